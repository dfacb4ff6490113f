"""The options of names by a language model."""

from __future__ import annotations

from .declare import Option

_GROUP = "names by a language model"
NAMER = (
    Option(
        "--namer",
        "address of a server that speaks OpenAI's chat protocol (Ollama, llama.cpp, vLLM), such as "
        "http://localhost:11434, which is asked for the names of the clusters; a key goes into the "
        "environment variable NESTMAP_NAMER_KEY. none: back to the built-in names "
        "(docs/use/names.md)",
        "URL",
        group=_GROUP,
    ),
    Option("--namer-model", "the model, as the server calls it", "NAME", group=_GROUP),
    Option(
        "--namer-level",
        "the finest level that it names (default: the finest of at most 256 clusters, or the run's "
        "own)",
        "L",
        convert=int,
        group=_GROUP,
    ),
    Option(
        "--namer-timeout",
        "seconds that one answer may take",
        "SECONDS",
        convert=float,
        default=120.0,
        group=_GROUP,
        is_expert=True,
    ),
)
NAMER_VALUES = tuple(option.dest for option in NAMER)
