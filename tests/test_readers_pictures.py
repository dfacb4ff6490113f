"""Folders of pictures and arrays of pictures: rows of pixels, thumbnails, and what is left out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import digits

from nestmap import FileFormatError
from nestmap.app.cli import main
from nestmap.app.readers import pictures
from nestmap.app.readers.pixels import picture_shape
from nestmap.app.runs.extras import read_images
from nestmap.app.runs.folder import RunFolder
from nestmap.readers import read_table

Image = pytest.importorskip("PIL.Image")

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (6, 12, 16, 3), dtype=np.uint8)
DIGITS = (digits()[:60] * 15).astype(np.uint8).reshape(-1, 8, 8)


def save(path: Path, pixels: np.ndarray, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


class TestFolder:
    def test_pictures_of_one_small_size_are_kept_as_they_are(self, tmp_path: Path) -> None:
        for name, pixels in zip("cab", COLOUR, strict=False):
            save(tmp_path / f"{name}.png", pixels)
        table = read_table(tmp_path)
        assert table.X.dtype == np.uint8 and table.pictures == (12, 16, 3)
        np.testing.assert_array_equal(table.X.reshape(3, 12, 16, 3), COLOUR[[1, 2, 0]])
        assert table.names.tolist() == ["a.png", "b.png", "c.png"] and table.metadata == {}
        assert str(table) == (
            f"{tmp_path} (pictures as 12 x 16 pixels in colour): 3 rows, 576 columns used; "
            "rows have names"
        )

    def test_grey_pictures_and_proportions(self, tmp_path: Path) -> None:
        ramp = np.tile(np.arange(128, dtype=np.uint8), (64, 1))
        save(tmp_path / "a.png", ramp)
        save(tmp_path / "b.png", np.stack([ramp] * 3, axis=2))  # grey, as colours
        table = read_table(tmp_path)
        assert table.pictures == (16, 32)
        np.testing.assert_allclose(table.X[0].reshape(16, 32)[3], np.arange(1.5, 128, 4), atol=1)
        np.testing.assert_array_equal(table.X[0], table.X[1])

    def test_sizes_that_differ_become_squares(self, tmp_path: Path) -> None:
        save(tmp_path / "a.png", COLOUR[0])
        save(tmp_path / "b.bmp", COLOUR[1][:, :5])
        save(tmp_path / "c.webp", COLOUR[2], lossless=True)
        save(tmp_path / "d.tif", COLOUR[3])
        save(tmp_path / "e.JPG", COLOUR[4])
        table = read_table(tmp_path)
        assert table.pictures == (32, 32, 3) and table.X.shape == (5, 3072)
        assert [name[0] for name in table.names] == [*"abcde"]

    def test_folders_inside_are_the_label(self, tmp_path: Path) -> None:
        for name in ("dogs/1.png", "cats/2.png", "cats/old/1.png"):
            save(tmp_path / name, COLOUR[0])
        table = read_table(tmp_path)
        assert table.names.tolist() == ["cats/2.png", "cats/old/1.png", "dogs/1.png"]
        assert table.metadata["folder"].tolist() == ["cats", "cats/old", "dogs"]
        assert table.label == "folder"
        assert read_table(tmp_path / "dogs").label is None

    def test_hidden_and_other_files_are_left_out(self, tmp_path: Path) -> None:
        save(tmp_path / "a.png", COLOUR[0])
        for name in (".DS_Store", "._a.png", ".git/b.png", "__MACOSX/a.png"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(b"x")
        (tmp_path / "notes.txt").write_text("x")
        (tmp_path / "folder.png").mkdir()
        table = read_table(tmp_path)
        assert table.names.tolist() == ["a.png"] and table.left_out == {"1 file": "no pictures"}

    def test_broken_pictures_are_named_and_left_out(self, tmp_path: Path) -> None:
        save(tmp_path / "b.png", COLOUR[0])
        data = (tmp_path / "b.png").read_bytes()
        (tmp_path / "a.png").write_bytes(data[: len(data) // 2])
        (tmp_path / "c.png").write_bytes(b"")
        table = read_table(tmp_path)
        assert table.names.tolist() == ["b.png"]
        assert table.left_out == {"2 pictures": "cannot be read: a.png, c.png"}
        (tmp_path / "b.png").unlink()
        with pytest.raises(FileFormatError, match=r"none of its pictures can be read; a.png: "):
            read_table(tmp_path)

    def test_kinds_of_pixels(self, tmp_path: Path) -> None:
        grey = COLOUR[0, ..., 0]
        clear = np.dstack([COLOUR[0], np.zeros((12, 16), dtype=np.uint8)])
        save(tmp_path / "a.png", clear)
        save(tmp_path / "b.png", grey.astype(np.uint16) * 257)
        save(tmp_path / "c.tif", grey / np.float32(255))
        Image.fromarray(COLOUR[0]).quantize(256).save(tmp_path / "d.png")
        save(tmp_path / "e.png", grey > 127)
        Image.fromarray(COLOUR[0]).convert("CMYK").save(tmp_path / "f.jpg")
        found = read_table(tmp_path).X.reshape(6, 12, 16, 3)
        assert (found[0] == 255).all()  # what is transparent is white
        np.testing.assert_array_equal(found[1], np.dstack([grey] * 3))
        low, high = int(grey.min()), int(grey.max())
        stretched = (grey.astype(float) - low) / (high - low) * 255
        np.testing.assert_allclose(found[2, ..., 1], stretched, atol=1)
        assert np.abs(found[3].astype(int) - COLOUR[0]).mean() < 20
        np.testing.assert_array_equal(found[4, ..., 2], np.where(grey > 127, 255, 0))

    def test_photos_are_turned_upright(self, tmp_path: Path) -> None:
        ramp = np.tile(np.linspace(0, 255, 40, dtype=np.uint8), (20, 1))
        turned = Image.Exif()
        turned[0x0112] = 6  # taken with the camera on its side
        save(tmp_path / "a.jpg", np.rot90(ramp), exif=turned, quality=95)
        save(tmp_path / "b.jpg", ramp, quality=95)
        table = read_table(tmp_path)
        assert table.pictures == (16, 32)
        np.testing.assert_allclose(table.X[0].astype(int), table.X[1], atol=6)

    def test_blocks_make_no_difference(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for i, pixels in enumerate(COLOUR):
            save(tmp_path / f"{i}.png", pixels)
        whole = read_table(tmp_path).X
        monkeypatch.setattr(pictures, "_AT_ONCE", 4)
        np.testing.assert_array_equal(read_table(tmp_path).X, whole)

    def test_new_pictures_become_those_of_the_old(self, tmp_path: Path) -> None:
        save(tmp_path / "old/a.png", COLOUR[0, ..., 0])
        save(tmp_path / "new/a.png", COLOUR[0].repeat(2, axis=0))
        old = read_table(tmp_path / "old")
        new = read_table(tmp_path / "new", like=old)
        assert old.pictures == new.pictures == (12, 16) and new.X.shape == (1, 192)

    def test_errors(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(FileFormatError, match=r"is a folder without pictures.*nor others"):
            read_table(tmp_path)
        (tmp_path / "part-0.parquet").write_bytes(b"x")
        with pytest.raises(FileFormatError, match=r"it has part-0.parquet: name one file"):
            read_table(tmp_path)
        save(tmp_path / "a.png", COLOUR[0])
        with pytest.raises(ValueError, match="label='kind' is not there"):
            read_table(tmp_path, label="kind")
        monkeypatch.setitem(sys.modules, "PIL.Image", None)
        with pytest.raises(
            ImportError, match=r"pip install 'nestmap\[files\]' \(or pip install pil"
        ):
            read_table(tmp_path)


class TestArrays:
    @pytest.mark.parametrize(
        ("X", "shape"),
        [
            (DIGITS, (8, 8)),
            (DIGITS[..., None], (8, 8)),
            (COLOUR, (12, 16, 3)),
            (DIGITS.reshape(-1, 64), (8, 8)),
            (DIGITS.reshape(-1, 64) / 240, (8, 8)),
            (DIGITS / 255, None),  # neither 1 nor 255 is its largest value
            (DIGITS.reshape(-1, 64)[:, np.random.default_rng(1).permutation(64)], None),
            (RNG.integers(0, 256, (50, 64), dtype=np.uint8), None),
            (DIGITS.reshape(-1, 64)[:, :60], None),
            (DIGITS[:, :, :, None].repeat(2, axis=3), None),
            (RNG.integers(0, 256, (2, 300, 300), dtype=np.uint8), None),
            (DIGITS.reshape(-1, 64) - 0.5, None),
            (np.full((5, 64), np.nan), None),
            (DIGITS[:0], None),
        ],
    )
    def test_shapes(self, X: np.ndarray, shape: tuple[int, ...] | None) -> None:
        assert picture_shape(X) == shape

    def test_files(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "t.npz", X=DIGITS)
        np.save(tmp_path / "t.npy", DIGITS.reshape(-1, 64))
        assert read_table(tmp_path / "t.npz").pictures == (8, 8)
        assert read_table(tmp_path / "t.npy").pictures == (8, 8)
        assert read_table(tmp_path / "t.npy", columns=["0-9"]).pictures is None


class TestCommands:
    def test_thumbnails_without_the_option(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        np.savez(tmp_path / "t.npz", X=DIGITS)
        assert main(["fit", str(tmp_path / "t.npz"), "-o", str(tmp_path / "run")]) == 0
        assert (
            "rows are pictures of 8 x 8 pixels: their thumbnails are kept"
            in capsys.readouterr().err
        )
        kept = read_images(tmp_path / "run", len(DIGITS))
        assert kept is not None
        np.testing.assert_allclose(kept, DIGITS * (255 / DIGITS.max()), atol=0.51)
        command = ["fit", str(tmp_path / "t.npz"), "--images", "none", "-o", str(tmp_path / "none")]
        assert main(command) == 0
        assert "thumbnails are kept" not in capsys.readouterr().err
        assert read_images(tmp_path / "none", len(DIGITS)) is None

    def test_a_folder_and_new_pictures(self, tmp_path: Path) -> None:
        for i, pixels in enumerate(DIGITS):
            save(tmp_path / f"data/{'ab'[i % 2]}/{i:02}.png", pixels)
        run = tmp_path / "run"
        assert main(["fit", str(tmp_path / "data"), "-o", str(run), "--quiet"]) == 0
        rows = RunFolder(run).rows()
        assert rows.names is not None and rows.names[0] == "a/00.png"
        assert set(rows.metadata["folder"]) == {"a", "b"}
        assert json.loads((run / "run.json").read_text())["reading"]["pictures"] == [8, 8]
        save(tmp_path / "new/x.png", COLOUR[0])
        out = tmp_path / "new.csv"
        assert main(["transform", str(run), str(tmp_path / "new"), "-o", str(out), "--quiet"]) == 0
        assert out.read_text().split("\n")[1].startswith("x.png,")
        assert main(["score", str(tmp_path / "data"), str(run), "--quiet"]) == 0
