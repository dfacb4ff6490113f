from ._core_baseline import *  # noqa: F403 (a build of the same module)
