"""Tours of a map, and what a static folder says of itself."""

# ruff: noqa: F401 (fixtures)

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from PIL import Image
from serving import ask, given_original, given_page, given_server, given_store  # fixtures

from nestmap import HNNE, ModelFileError
from nestmap.app.cli import main
from nestmap.views.explore.bundle import write_site
from nestmap.views.explore.cover import Cover, check_cover
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.server import Server
from nestmap.views.explore.tour import SavedTour, TourChanged, check_tour, tour_record

STOP = {"title": "One", "text": "first\nsecond", "view": "#x=1&z=2", "width": 900, "height": 600}


def post(server: Server, record: Any, **headers: str) -> tuple[int, Any]:
    given = {"Origin": server.url[:-1], "Content_Type": "application/json", **headers}
    status, _, body = ask(server, "/api/tour", "POST", record, **given)
    return status, json.loads(body) if status == 200 else body.decode()


@pytest.fixture
def touring(store: Path) -> Any:
    saved = SavedNames(store.parent / "names.json")
    serving = Server(MapStore(store, saved, SavedTour(store.parent / "tour.json")))
    serving.start()
    yield serving
    serving.stop()


def test_a_tour_is_saved_beside_the_names(touring: Server, store: Path) -> None:
    before = json.loads(ask(touring, "/data/tour.json")[2])
    assert before["stops"] == []
    status, kept = post(touring, {"stops": [STOP], "mark": before["mark"]})
    assert status == 200 and kept["stops"] == [STOP] and kept["mark"] != before["mark"]
    assert json.loads((store.parent / "tour.json").read_text()) == {"stops": [STOP]}
    assert json.loads(ask(touring, "/data/tour.json?v=" + touring.store.id)[2]) == kept
    assert {path.name for path in store.parent.iterdir()} == {
        "store",
        "tour.json",
        "tour.json.lock",
    }  # nothing temporary


def test_nobody_overwrites_a_tour_unseen(touring: Server, store: Path) -> None:
    mark = tour_record(())["mark"]
    other = SavedTour(store.parent / "tour.json")
    other.change(check_tour([STOP]), mark)
    status, told = post(touring, {"stops": [], "mark": mark})
    assert status == 412 and "reload" in told
    assert len(other.read()) == 1
    with pytest.raises(TourChanged):
        other.change((), mark)
    in_memory = SavedTour()
    in_memory.change(check_tour([STOP]), mark)
    with pytest.raises(TourChanged):
        in_memory.change((), mark)


BAD = [
    {"stops": [{}], "mark": ""},
    {"stops": [{**STOP, "view": "https://elsewhere"}], "mark": ""},
    {"stops": [{**STOP, "view": "#\x00"}], "mark": ""},
    {"stops": [{**STOP, "width": 0}], "mark": ""},
    {"stops": [{**STOP, "height": True}], "mark": ""},
    {"stops": [{**STOP, "text": 5}], "mark": ""},
    {"stops": [STOP] * 101, "mark": ""},
    {"stops": "all", "mark": ""},
    {"stops": []},
    {"stops": [], "mark": "", "more": 1},
    [],
]


@pytest.mark.parametrize("record", BAD)
def test_what_is_no_tour_is_refused(touring: Server, store: Path, record: Any) -> None:
    status, told = post(touring, record)
    assert status == 400 and ("tour" in told or "expected" in told)
    assert not (store.parent / "tour.json").exists()


def test_tours_come_from_the_own_page_only(touring: Server, store: Path) -> None:
    record = {"stops": [STOP], "mark": tour_record(())["mark"]}
    assert post(touring, record, Origin="http://elsewhere")[0] == 403
    assert post(touring, record, Content_Type="text/plain")[0] == 415
    assert post(touring, {}, Content_Length="1000001")[0] == 413
    assert not (store.parent / "tour.json").exists()
    touring.store.saved.writable = False  # type: ignore[union-attr]
    status, told = post(touring, record)
    assert status == 400 and "cannot be saved here" in told


def test_texts_are_tidied() -> None:
    (stop,) = check_tour([{**STOP, "title": " a\nb\x07 ", "text": "x" * 5000 + "\r\n"}])
    assert stop.title == "a b" and stop.text == "x" * 2000
    (stop,) = check_tour([{**STOP, "text": "one\r\n\r\n two\x00 \n"}])
    assert stop.text == "one\n\ntwo"


@pytest.mark.parametrize("text", ["{", "[]", '{"stops": 3}', '{"stops": [{"title": 1}]}'])
def test_a_file_that_is_no_tour_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "tour.json").write_text(text)
    with pytest.raises(ModelFileError, match=r"tour\.json.*delete it"):
        SavedTour(tmp_path / "tour.json")


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, str] = {}
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.scripts += tag == "script"
        if tag == "meta" and (key := own.get("property") or own.get("name")):
            self.tags[key] = own.get("content") or ""


def data(site: Path, name: str) -> Any:
    packed = re.findall(r'"([^"]*)"', (site / "data" / f"{name}.js").read_text())[1]
    return json.loads(gzip.decompress(b64decode(packed)))


HOSTILE = '"><script>alert(1)</script>'


def test_a_static_folder_says_what_it_is(tmp_path: Path) -> None:
    model = HNNE().fit(digits()[:300])
    site = model.explore(
        path=tmp_path / "site",
        title=f"Digits {HOSTILE}",
        description=f"Pens & {HOSTILE}",
        tour=[STOP],
        url="https://example.org/maps",
    )
    head = Tags((site / "index.html").read_text())
    plain = Tags(
        (
            Path(write_site(tmp_path / "plain", MapStore(_store(model, tmp_path)))) / "index.html"
        ).read_text()
    )
    assert head.tags["og:title"] == f"Digits {HOSTILE}"
    assert head.tags["description"] == head.tags["og:description"] == f"Pens & {HOSTILE}"
    assert head.tags["og:image"] == "https://example.org/maps/preview.png"
    assert head.scripts == plain.scripts and "og:image" not in plain.tags
    picture = np.asarray(Image.open(site / "preview.png").convert("RGB"))
    assert picture.shape == (630, 1200, 3) and len(np.unique(picture.reshape(-1, 3), axis=0)) > 200
    assert data(site, "meta.json")["description"] == f"Pens & {HOSTILE}"
    assert data(site, "tour.json")["stops"] == [STOP]


def _store(model: HNNE, folder: Path) -> Path:
    from nestmap.views.explore.store import write_store

    return write_store(folder / "store", model)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "example.org", "/maps", "https://"])
def test_an_address_that_nobody_can_follow_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="whole address"):
        check_cover(url=url)


def test_what_is_no_tour_is_refused_before_any_work(tmp_path: Path) -> None:
    model = HNNE().fit(digits()[:100])
    with pytest.raises(ValueError, match="tour: stop 1"):
        model.explore(path=tmp_path / "site", tour=[{}])
    with pytest.raises(ModelFileError, match="missing"):
        model.explore(tour=tmp_path / "tour.json")
    assert not (tmp_path / "site").exists()


def test_a_model_being_served_has_the_tour(tmp_path: Path) -> None:
    (tmp_path / "tour.json").write_text(json.dumps({"stops": [STOP]}))
    with HNNE().fit(digits()[:100]).explore(tour=str(tmp_path / "tour.json")) as page:
        assert page.tour == [STOP]


def test_the_command_line_exports_title_description_and_tour(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", digits()[:200])
    run, site = tmp_path / "run", tmp_path / "site"
    assert main(["fit", str(tmp_path / "x.npy"), "-o", str(run), "--quiet"]) == 0
    (run / "tour.json").write_text(json.dumps({"stops": [STOP]}))
    told = ["--title", "Pens", "--description", "What people write.", "--quiet"]
    assert main(["export", str(run), "-o", f"{site}/", *told]) == 0
    assert Tags((site / "index.html").read_text()).tags["og:image"] == "preview.png"
    assert data(site, "meta.json")["title"] == "Pens" and data(site, "tour.json")["stops"] == [STOP]
    assert (
        main(["export", str(run), "-o", f"{site}/", "--force", "--url", "nowhere", "--quiet"]) != 0
    )


def test_a_cover_without_a_picture_names_none() -> None:
    tags = Tags(Cover().tags("a"))
    assert tags.tags == {"og:type": "website", "og:title": "a"}


def test_a_run_that_replaces_one_with_a_tour_leaves_it(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", digits()[:200])
    run = tmp_path / "run"
    fit = ["fit", str(tmp_path / "x.npy"), "-o", str(run), "--quiet"]
    assert main(fit) == 0
    (run / "tour.json").write_text(json.dumps({"stops": [STOP]}))
    assert main([*fit, "--force"]) == 0
    assert not (run / "tour.json").exists()  # its views are of the old map
    assert (tmp_path / "run.old" / "tour.json").exists()
