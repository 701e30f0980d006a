"""The data sets that can be fetched: where each is published, and the checksums of its files.

A checksum is that of the files that the figures of this project were measured on, so that what is
fetched is what was measured. It looks through repacking, and for triples through line ends and the
order of lines too, which copies differ in.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """A file of a data set, with the checksum of its unpacked bytes or of its sorted lines."""

    name: str
    md5: str = ""
    lines_sha256: str = ""
    rows: int | None = None  # triples, where it holds triples
    size: int | None = None  # bytes, unpacked

    def fault(self, body: bytes) -> str | None:
        """What is wrong with the unpacked bytes of the file; None where the checksum is right."""
        if self.md5:
            got = hashlib.md5(body, usedforsecurity=False).hexdigest()
            return None if got == self.md5 else f"has MD5 {got}, not {self.md5}"
        got = lines_sha256(body)
        if got == self.lines_sha256:
            return None
        return f"has sorted lines with SHA-256 {got}, not {self.lines_sha256}"


def lines_sha256(body: bytes) -> str:
    r"""The SHA-256 of the lines of a text without blanks around them, sorted, empty ones left out.

    >>> lines_sha256(b"b\tr\tc\r\na\tr\tb") == lines_sha256(b"a\tr\tb\nb\tr\tc\n")
    True
    """
    lines = sorted(line for raw in body.split(b"\n") if (line := raw.strip()))
    return hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()


@dataclass(frozen=True)
class Archive:
    """A tar or zip file that holds all files of a data set, in a folder of its own or none."""

    url: str
    inner: str = ""


@dataclass(frozen=True)
class DataSource:
    """A data set: its files, the addresses that serve them, and what it is."""

    name: str
    files: tuple[File, ...]
    urls: tuple[str, ...]  # each is a folder of the files
    archives: tuple[Archive, ...] = ()  # asked after these
    about: str = ""
    folder: str = ""  # below a place for data; the name by default
    hint: str = ""  # how to come by it, where no address serves these very files

    @property
    def where(self) -> str:
        """The folder below a place for data."""
        return self.folder or self.name

    @property
    def triples(self) -> tuple[int, ...]:
        """How many triples each split has; empty for what is no graph, or not known."""
        return tuple(file.rows for file in self.files if file.rows is not None)

    @property
    def size(self) -> int | None:
        """Bytes of all files, unpacked, where known."""
        sizes = [file.size for file in self.files]
        return None if not sizes or None in sizes else sum(s for s in sizes if s is not None)


MNIST = DataSource(
    name="mnist",
    files=(
        File("train-images-idx3-ubyte.gz", "6bbc9ace898e44ae57da46a324031adb", size=47_040_016),
        File("train-labels-idx1-ubyte.gz", "a25bea736e30d166cdddb491f175f624", size=60_008),
        File("t10k-images-idx3-ubyte.gz", "2646ac647ad5339dbf082846283269ea", size=7_840_016),
        File("t10k-labels-idx1-ubyte.gz", "27ae3e4e09519cfbb04c329615203637", size=10_008),
    ),
    urls=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    about="handwritten digits, 60,000 and 10,000 pictures of 28 × 28",
)

# Of train, valid and test: the SHA-256 of the sorted lines, how many lines, how many bytes.
_GRAPHS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "wn18rr": (
        ("9f056a1a3a13dd8752ca67b61705230bd93001f5cb2d928ba615a0416500c7ce", 86_835, 3_222_211),
        ("118cabf4e45155b829fadc226b704f4712cd1d5aba8e758e4aa0ad2158cb1807", 2_824, 106_997),
        ("639ef8b6cc3511458bba3149e3c9d55fa9545376acc012688769623f13433e80", 2_924, 110_008),
    ),
    "wn18rr_standard": (
        ("70fbc1c7881f33bd10c77bb493127fad58e5720f260d39c137fc927ecfb5d7f6", 86_835, 3_135_377),
        ("0f42971b8aa35b97350a9aec3e2015bdce5d33636ed2d5a5b9ea5b2ea5f36547", 3_034, 110_415),
        ("92f29d2ed83e81896b91575792696fb4d79db289789128f4c1ddbb38b1a07350", 3_134, 113_180),
    ),
    "fb15k237_standard": (
        ("8d2a771809b0f38f2824c839f25ec57e3a187405049112751e72c82ee9eb3e12", 272_115, 21_277_292),
        ("1c4febacc6daabc6f3f8e72650935126ef208b098be3a90a81780ba69401836d", 17_535, 1_303_101),
        ("a7156e4560d173ee2e3e8504c490e95d14fa893f1863a6d584d2f5053489a647", 20_466, 1_519_499),
    ),
    "countries_s1": (
        ("7453887e843712300066a5ab27b7b269c65118d731f2d60e0859bfd7e37af800", 1_111, 31_885),
        ("7dd49d7db9f65a26436b52c91844e903416197768adcbf9be80031c56fa57518", 24, 624),
        ("f43676cab51c6d6d2b90aff99dbf6fec3d2ec6669709fc1927a91e691959ace5", 24, 610),
    ),
    "countries_s2": (
        ("ee7ba02999e81f8f7ceae186a12c2c46fccdfd6c017112d0b18fbf8395eb3b1a", 1_063, 30_266),
        ("7dd49d7db9f65a26436b52c91844e903416197768adcbf9be80031c56fa57518", 24, 624),
        ("f43676cab51c6d6d2b90aff99dbf6fec3d2ec6669709fc1927a91e691959ace5", 24, 610),
    ),
    "grail/WN18RR_v1": (
        ("0352b4c767188c569d47962d3f6b45002a2195e15c30644606a98a9e6034246c", 5_410, 213_160),
        ("6efe33fe620c7121bf297ca4e755beb65ebd75356fd3eabc9bd8a282bb2d7abd", 630, 24_758),
        ("7575e1d1e6a8fd5db02f1a9d808da4dd13fbfe0335c90543ba75d33aab9e7d0d", 638, 25_248),
    ),
    "grail/WN18RR_v1_ind": (
        ("d937c0c5443874d959e6116372590f2fd3be0f1ff6e3c49d5cb8e991c5dd41ca", 1_618, 67_372),
        ("ea654d96c241c6681c3413c0c4c65b1f1829777120fd1017dc566501d8eb0547", 185, 7_974),
        ("cb8305231c82ee85cf61ebb444d75175b925ffed2eb79ed9c30423ee77300cbc", 188, 8_101),
    ),
    "grail/WN18RR_v2": (
        ("83c8f2016666d193d65c04be13bb1f65744ee5f4435bde91c9eb3aad479ae0e4", 15_262, 607_710),
        ("3d58799485802e120bbf47082b176916ad82b0dc81fd8588039df5af7a1ae638", 1_838, 73_166),
        ("8b435f4c1af080469645f2cd0768b3d6ac8f128eabc44052bd75df192c4cf854", 1_868, 75_199),
    ),
    "grail/WN18RR_v2_ind": (
        ("b1a1eb3b6b1ca8478514025add0f88e88adeed7a34687bb4d8b9b9f9aff68b05", 4_011, 160_235),
        ("7b35c65abc6a616428d66ce66bd27c462401d09e6c3dd618645507938d1da33d", 411, 17_196),
        ("d99ba5f1e0b16799069bfe5bc0626272b18e799a367939832aec62ac34f5310f", 441, 18_191),
    ),
    "grail/fb237_v1": (
        ("cf443dc6ae18889f7e90e40989945e1971c9a17bc4dc3087ec3c7eb1fbedd200", 4_245, 306_475),
        ("8a92352736c0c4ccd25299eebab409214c29e43027ade4fe35b8f38883fa1f6f", 489, 35_308),
        ("5e43629fa0d33e3f70bd9ae8a751adc786c0e2bff79a16eb517623f0b404425e", 492, 34_735),
    ),
    "grail/fb237_v1_ind": (
        ("73b4e20fd35c719e9cec0e3e534df6e844b189a19729b6bb1802c9201a868d39", 1_993, 147_145),
        ("259104e446afb76058c276d7f7e13e776b4c3478ecab17be522259061b0f8a8e", 206, 15_165),
        ("d4ceec3c4ea0f1830fc7aba40bb512aec079ba38c34ca58f8c53dce673b51439", 205, 14_846),
    ),
    "grail/fb237_v2": (
        ("2fe453f652d20f2738576a8172c1f8085b2911fd662b8406aef2562448cf68b4", 9_739, 722_862),
        ("b0f3cb7cc8e2fb744dadbb3e5f5e2dcea204d01c74c769eb649e3d4db2eb91e9", 1_166, 87_596),
        ("663f3b4858e045b3bb2b220f8a80b53b9c3d29c4e18c2cbb7007234c20c3cc0a", 1_180, 89_741),
    ),
    "grail/fb237_v2_ind": (
        ("c0023d3f69c04ec0419d209e6525971c4e4e005f08b3f164ef1a8ea325ab7ca0", 4_145, 326_955),
        ("a0b73c31ee553e0bbf76bc0aaa34267a28ec786bd376f79cd96c440e5cd81a59", 469, 37_244),
        ("ab044ab8e50bc45084980a14133873300d142abf453c92d3b08de86ada878469", 478, 38_098),
    ),
}

_RAW = "https://raw.githubusercontent.com/"
_KGE = _RAW + "DeepGraphLearning/KnowledgeGraphEmbedding/617062aaedf53bf4d6b44450a580a96dc30e0632/"
_GROUND = _RAW + "rodrigo-castellano/NeSyGround/6cdea1773bbd6bcc1e2114f9994af85611a243f9/"
_GRAIL = _RAW + "kkteru/grail/master/"
_MSTAR = _RAW + "nju-websoft/MStar/1a05189fe1329d79e8f02323f212776ed879dbc0/"
_CONVE = "https://github.com/TimDettmers/ConvE/raw/master/"
_MICROSOFT = (
    "https://download.microsoft.com/download/8/7/0/8700516A-AB3D-4850-B4BB-805C515AECE1/"
    "FB15K-237.2.zip"
)


def _graph(name: str, about: str, *urls: str, archives: tuple[Archive, ...] = ()) -> DataSource:
    splits = zip(("train.txt", "valid.txt", "test.txt"), _GRAPHS[name], strict=True)
    files = tuple(
        File(file, lines_sha256=digest, rows=rows, size=size)
        for file, (digest, rows, size) in splits
    )
    return DataSource(name, files, urls, archives, about, f"kg/{name}")


def _grail(name: str) -> DataSource:
    known = "the graph known when it is asked about" if name.endswith("_ind") else "to train on"
    about = f"GraIL (Teru et al. 2020), {name}, {known}"
    folder = f"data/{name}/"
    return _graph(f"grail/{name}", about, _GRAIL + folder, _MSTAR + folder)


def _by_hand(name: str, about: str, hint: str) -> DataSource:
    files = tuple(File(f"{split}.txt") for split in ("train", "valid", "test"))
    return DataSource(name, files, (), (), about, f"kg/{name}", hint)


SOURCES = {
    source.name: source
    for source in (
        MNIST,
        _graph(
            "wn18rr_standard", "WN18RR (Dettmers et al. 2018), the split that is reported on",
            _KGE + "data/wn18rr/", archives=(Archive(_CONVE + "WN18RR.tar.gz"),),
        ),
        _graph(
            "wn18rr", "WN18RR without test triples of entities that train lacks, as Prolog facts",
            _GROUND + "data/wn18rr/",
        ),
        _graph(
            "fb15k237_standard", "FB15k-237 (Toutanova and Chen 2015)", _KGE + "data/FB15k-237/",
            archives=(Archive(_CONVE + "FB15k-237.tar.gz"), Archive(_MICROSOFT, "Release/")),
        ),
        _graph("countries_s1", "Countries S1 (Bouchard et al. 2015)", _KGE + "data/countries_S1/"),
        _graph("countries_s2", "Countries S2", _KGE + "data/countries_S2/"),
        *(
            _grail(graph + end)
            for graph in ("WN18RR_v1", "WN18RR_v2", "fb237_v1", "fb237_v2") for end in ("", "_ind")
        ),
        _by_hand(
            "family", "Family, 12 relations of kinship, 19,845 / 2,799 / 5,626 triples",
            "data/family of github.com/vivian1993/UniKER, without the valid and test triples of "
            "entities that train lacks",
        ),
        _by_hand(
            "umls", "UMLS, a split of 1,959 / 1,300 / 3,245 triples",
            "no address is known that serves this split",
        ),
        _by_hand(
            "countries_s3", "Countries S3 with relations by type, 983 / 24 / 24 triples",
            "no address is known that serves these files",
        ),
    )
}  # fmt: skip
"""Every data set by its name."""
