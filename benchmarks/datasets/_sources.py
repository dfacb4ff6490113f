"""Which data sets there are, and where their makers publish them: a table, no code.

A checksum is listed only where it is published: by torchvision (MNIST, Fashion-MNIST), on the CIFAR
page, by gensim-data (Google News), by several projects in agreement (HIGGS). COIL-20 and LIBSVM's
MNIST8M come without one.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class File:
    """A published file: mirrors in the order to try, checksum as "md5:…" or "sha256:…"."""

    name: str
    urls: tuple[str, ...] = ()
    checksum: str | None = None


@dataclass(frozen=True)
class Original:
    """Files that together hold a data set as its makers publish it, and the format they are in."""

    format: str
    files: tuple[File, ...]

    @property
    def downloadable(self) -> bool:
        return all(file.urls for file in self.files)

    def __str__(self) -> str:
        names = [file.name for file in self.files]
        return (
            ", ".join(names)
            if len(names) <= 6
            else f"{names[0]} … {names[-1]} ({len(names)} files)"
        )


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set before it is loaded; printed, it is one line of a table.

    Attributes
    ----------
    name : str
        What `load` takes.
    rows, columns : int
        Size of the published data.
    classes : int or None
        Number of classes, None where there are none, or where they are not known yet.
    metric : str
        The recommended metric; empty for your own files, where it depends on whether there are
        words.
    n_train : int or None
        The first `n_train` rows are the official training part.
    description, source, licence : str
        What it is, where it comes from, and on what terms as far as they are stated.
    """

    name: str
    rows: int
    columns: int
    classes: int | None
    metric: str
    n_train: int | None
    description: str
    source: str
    licence: str
    originals: tuple[Original, ...] = field(default=(), repr=False)
    # Sub-directories, besides the data set's own name, in which other tools leave the files.
    folders: tuple[str, ...] = field(default=(), repr=False)
    # Where a package of the operating system puts the files.
    system: tuple[str, ...] = field(default=(), repr=False)
    # The file names do not tell which data set they hold (MNIST, Fashion-MNIST).
    ambiguous: bool = field(default=False, repr=False)
    bundled: bool = field(default=False, repr=False)

    def __str__(self) -> str:
        size = f"{self.rows:>10,} x {self.columns:<6,}"
        classes = f"{self.classes:>5,} classes" if self.classes else " " * 13
        return f"{self.name:<14} {size} {classes}  {self.metric:<9}  {self.source}"


_IDX = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def _idx(mirrors: tuple[str, ...], md5: tuple[str, ...]) -> tuple[Original, ...]:
    files = (
        File(name, tuple(mirror + name for mirror in mirrors), f"md5:{digest}")
        for name, digest in zip(_IDX, md5, strict=True)
    )
    return (Original("idx_split", tuple(files)),)


def _one(format: str, name: str, *urls: str, checksum: str | None = None) -> Original:
    return Original(format, (File(name, urls, checksum),))


_BATCHES = (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")
_CIFAR = ("https://www.cs.toronto.edu/~kriz/", "https://cave.cs.toronto.edu/kriz/")
_COIL = "databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip"
_FACES = "https://github.com/ssarfraz/FINCH-Clustering (by its authors; no direct link)"

_TABLE = (
    DatasetInfo(
        "higgs",
        11_000_000,
        28,
        2,
        "euclidean",
        10_500_000,
        "Simulated collisions of particles: 21 measured and 7 derived quantities; signal (1) or "
        "background (0).",
        "https://archive.ics.uci.edu/dataset/280/higgs",
        "CC BY 4.0",
        originals=(
            _one(
                "csv",
                "HIGGS.csv.gz",
                "https://archive.ics.uci.edu/ml/machine-learning-databases/00280/HIGGS.csv.gz",
                "http://mlphysics.ics.uci.edu/data/higgs/HIGGS.csv.gz",
                checksum="sha256:ea302c18164d4e3d916a1e2e83a9a8d07069fa6ebc7771e4c0540d54e593b698",
            ),
            _one("csv", "higgs.zip", "https://archive.ics.uci.edu/static/public/280/higgs.zip"),
        ),
    ),
    DatasetInfo(
        "google_news",
        3_000_000,
        300,
        None,
        "cosine",
        None,
        "word2vec vectors of 3 million words and phrases of Google News; the words are in names.",
        "https://code.google.com/archive/p/word2vec/",
        "not stated by its makers",
        originals=(
            _one(
                "word2vec",
                "word2vec-google-news-300.gz",
                "https://github.com/RaRe-Technologies/gensim-data/releases/download/"
                "word2vec-google-news-300/word2vec-google-news-300.gz",
                checksum="md5:a5e5354d40acb95f9ec66d5977d140ef",
            ),
            _one(
                "word2vec",
                "GoogleNews-vectors-negative300.bin.gz",
                "https://s3.amazonaws.com/dl4j-distribution/GoogleNews-vectors-negative300.bin.gz",
            ),
        ),
        folders=("google-news",),
    ),
    DatasetInfo(
        "coil20",
        1440,
        16384,
        20,
        "euclidean",
        None,
        "Grey images, 128 x 128, of 20 objects (class 1 to 20) on a turntable, 72 views each in "
        "order.",
        "https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php",
        "for research, as its makers ask",
        originals=(
            _one(
                "coil20",
                "coil-20-proc.zip",
                f"https://www.cs.columbia.edu/CAVE/{_COIL}",
                f"https://cave.cs.columbia.edu/old/{_COIL}",
            ),
            Original(
                "coil20",
                tuple(File(f"obj{k}__{view}.png") for k in range(1, 21) for view in range(72)),
            ),
            _one("arrays", "COIL20.mat"),
        ),
        folders=("coil-20-proc",),
    ),
    DatasetInfo(
        "cifar10",
        60_000,
        3072,
        10,
        "euclidean",
        50_000,
        "Colour images, 32 x 32, the red, green and blue plane one after the other; 50,000 for "
        "training first.",
        "https://www.cs.toronto.edu/~kriz/cifar.html",
        "not stated by its makers",
        originals=(
            _one(
                "cifar",
                "cifar-10-binary.tar.gz",
                *(f"{at}cifar-10-binary.tar.gz" for at in _CIFAR),
                checksum="md5:c32a1d4ab5d03f1284b67883e8d87530",
            ),
            _one(
                "cifar",
                "cifar-10-python.tar.gz",
                *(f"{at}cifar-10-python.tar.gz" for at in _CIFAR),
                checksum="md5:c58f30108f718f92721af3b95e74349a",
            ),
            Original("cifar", tuple(File(f"{batch}.bin") for batch in _BATCHES)),
            Original("cifar", tuple(File(batch) for batch in _BATCHES)),
        ),
        folders=("cifar-10-batches-bin", "cifar-10-batches-py"),
    ),
    DatasetInfo(
        "fashion_mnist",
        70_000,
        784,
        10,
        "euclidean",
        60_000,
        "Grey images, 28 x 28, of clothing, shoes and bags; 60,000 for training first.",
        "https://github.com/zalandoresearch/fashion-mnist",
        "MIT",
        originals=_idx(
            (
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            ),
            (
                "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                "25c81989df183df01b3e8a0aad5dffbe",
                "bef4ecab320f06d8554ea6380940ec79",
                "bb300cfdad3c16e7a12a480ee83cd310",
            ),
        ),
        folders=("fashion-mnist", "FashionMNIST/raw"),
        ambiguous=True,
        system=("/usr/share/datasets/fashion-mnist",),  # Debian's package dataset-fashion-mnist
    ),
    DatasetInfo(
        "imagenet",
        1_281_167,
        2048,
        1000,
        "euclidean",
        None,
        "ResNet-50 features of the training images of ILSVRC 2012, to be made or asked for.",
        "https://www.image-net.org (images; the features have no public source)",
        "for research, on registration",
        originals=(Original("arrays", (File("data.mat"), File("labels.mat"))),),
        folders=("imagenet_ILSVRC_2012/train",),
        ambiguous=True,
    ),
    DatasetInfo(
        "bbt",
        199_346,
        2048,
        5,
        "euclidean",
        None,
        "ResNet-50 features of faces in The Big Bang Theory, season 1, episodes 1 to 6; class = "
        "person.",
        _FACES,
        "for research, as their makers ask",
        originals=(_one("arrays", "bbt_data.npy"),),
    ),
    DatasetInfo(
        "buffy",
        206_254,
        2048,
        6,
        "euclidean",
        None,
        "ResNet-50 features of faces in Buffy the Vampire Slayer, season 5, episodes 1 to 6; "
        "class = person.",
        _FACES,
        "for research, as their makers ask",
        originals=(_one("arrays", "buffy_data.npy"),),
    ),
    DatasetInfo(
        "mnist",
        70_000,
        784,
        10,
        "euclidean",
        60_000,
        "Grey images, 28 x 28, of handwritten digits; 60,000 for training first.",
        "http://yann.lecun.com/exdb/mnist/",
        "CC BY-SA 3.0",
        originals=_idx(
            (
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
            ),
            (
                "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                "d53e105ee54ea40749a09fcbcd1e9432",
                "9fb629c4189551a2d022fa330f9573f3",
                "ec29112dd5afa0611ce80d1b7f02629c",
            ),
        ),
        folders=("MNIST/raw",),
        ambiguous=True,
    ),
    DatasetInfo(
        "mnist8m",
        8_100_000,
        784,
        10,
        "euclidean",
        None,
        "MNIST's training images, each deformed in 134 ways besides itself (infimnist 10000 to "
        "8109999).",
        "https://leon.bottou.org/projects/infimnist",
        "as MNIST",
        originals=(
            Original(
                "idx_pair", (File("mnist8m-patterns-idx3-ubyte"), File("mnist8m-labels-idx1-ubyte"))
            ),
            _one(
                "svmlight",
                "mnist8m.xz",
                "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/mnist8m.xz",
            ),
        ),
        folders=("infimnist",),
    ),
    DatasetInfo(
        "digits",
        1797,
        64,
        10,
        "euclidean",
        None,
        "Grey images, 8 x 8, of handwritten digits, 17 shades; comes with scikit-learn.",
        "scikit-learn (UCI: Optical Recognition of Handwritten Digits, test part)",
        "CC BY 4.0",
        bundled=True,
    ),
)

SOURCES = {info.name: info for info in _TABLE}
