"""What a hostile or damaged zip may not do: every one is refused with a clear error."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadInput, LibraryError, UserError
from mentis.library.archive import Limits, export_set, read_archive
from mentis.library.archive.zip import pack, unpack
from mentis.library.layer import Layer
from mentis.library.load import load_layers, shipped_layer

MANIFEST = "_meta/prompt_manifest.json"
GOOD = b'{"version": "2.0", "prompts": {}}'


def zipped(
    members: Mapping[str, bytes], change: Callable[[zipfile.ZipInfo], object] = repr
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {MANIFEST: GOOD, **members}.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            if name != MANIFEST:
                change(info)
            archive.writestr(info, content)
    return buffer.getvalue()


def refusal(data: bytes, **limits: int) -> str:
    with pytest.raises(BadInput) as caught:
        read_archive(data, limits=Limits(**limits))
    assert caught.value.hint
    return caught.value.message


def linked(info: zipfile.ZipInfo) -> None:
    info.external_attr = (stat.S_IFLNK | 0o777) << 16


def device(info: zipfile.ZipInfo) -> None:
    info.external_attr = (stat.S_IFCHR | 0o600) << 16


def bzipped(info: zipfile.ZipInfo) -> None:
    info.compress_type = zipfile.ZIP_BZIP2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../evil.json", "leads out of its folder"),
        ("prompts/../../evil.json", "leads out of its folder"),
        ("prompts/./evil.json", "leads out of its folder"),
        ("/etc/evil.json", "has an absolute name"),
        ("C:/evil.json", "has an absolute name"),
        ("c:evil.json", "has an absolute name"),
        ("..\\evil.json", "control characters or backslashes"),
        ("prompts/a\nb.json", "control characters or backslashes"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, words: str) -> None:
    message = refusal(zipped({name: b"{}"}))
    assert words in message
    assert repr(name) in message


@pytest.mark.parametrize(
    ("change", "words"),
    [(linked, "a link or a device"), (device, "a link or a device"), (bzipped, "unusual way")],
)
def test_a_member_that_is_no_plain_file_is_refused(
    change: Callable[[zipfile.ZipInfo], None], words: str
) -> None:
    assert words in refusal(zipped({"prompts/a.json": b"{}"}, change))


def test_a_name_cut_short_by_a_null_byte_is_refused() -> None:
    data = zipped({"prompts/aXjson.png": b"{}"}).replace(b"aXjson.png", b"a.json\x00png")
    assert "control characters" in refusal(data)


def test_a_member_that_is_there_twice_is_refused() -> None:
    data = zipped({"prompts/a.json": b"{}", "prompts/b.json": b"{}"})
    assert "is in the archive twice" in refusal(data.replace(b"prompts/b", b"prompts/a"))


def test_an_encrypted_member_is_refused() -> None:
    data = bytearray(zipped({"prompts/a.json": b"{}"}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    assert "is encrypted" in refusal(bytes(data))


def test_a_bomb_is_refused_before_it_fills_the_memory() -> None:
    bomb = zipped({"prompts/a.json": b" " * 4_000_000})
    assert len(bomb) < 10_000
    assert "grows too much" in refusal(bomb)
    assert "is too large" in refusal(zipped({"prompts/a.json": b" " * 6_000_000}))


def test_a_bomb_that_lies_about_its_size_is_refused() -> None:
    data = bytearray(zipped({"prompts/a.json": b" " * 6_000_000}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    assert refusal(bytes(data))


def test_each_limit_is_told() -> None:
    many = zipped({f"prompts/a{number}.json": b"{}" for number in range(20)})
    assert refusal(many, members=10) == "the archive has 21 members; the limit is 10"
    assert "the limit is 30" in refusal(many, total_bytes=30)
    assert "the limit is 100" in refusal(many, archive_bytes=100)
    assert "the limit is 1" in refusal(many, member_bytes=1)


def test_what_is_no_prompt_set_is_neither_read_nor_refused() -> None:
    extra = {
        "README.txt": b"\xff",
        "prompts/_hidden.json": b"{",
        "prompts/deep/a.json": b"{",
        "__MACOSX/prompts/a.json": b"",
        "_meta/other.json": b"",
    }
    assert set(read_archive(zipped(extra)).ignored) == extra.keys()


def test_folders_are_no_members() -> None:
    assert read_archive(zipped({"prompts/": b"", "_meta/": b""})).ignored == ()


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"a": {}, "a": {}}',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b"\xef\xbb\xbf{}",
        b"\xff{}",
        b'{"a": "\\ud800"}',
        b"[" * 5000,
        b'{"a":' * 200 + b"1" + b"}" * 200,
    ],
)
def test_a_member_that_is_not_strict_json_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(LibraryError) as caught:
        read_archive(zipped({"prompts/a.json": content}))
    assert caught.value.message.startswith("prompts/a.json")


@pytest.mark.parametrize(
    ("member", "content"),
    [
        (MANIFEST, {"version": "2.0"}),
        (MANIFEST, {"prompts": []}),
        (MANIFEST, {"prompts": {"a": 1}}),
        ("_meta/placeholder_registry.json", {"placeholders": {"a": []}}),
        ("_meta/overrides.json", {"version": "1.0", "overrides": {"a": {"b": {}}}}),
        ("_meta/overrides.json", {}),
        ("metadata.json", {"sha256": []}),
    ],
)
def test_a_file_of_the_wrong_form_is_refused_by_name(member: str, content: object) -> None:
    with pytest.raises(LibraryError) as caught:
        read_archive(zipped({member: json.dumps(content).encode()}))
    assert caught.value.message.startswith(member)


def test_an_archive_without_a_manifest_is_refused() -> None:
    assert "no prompt set" in refusal(pack({"prompts/a.json": b"{}"}))


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip", b"PK\x05\x06" + b"\x00" * 18])
def test_what_is_no_zip_is_refused(data: bytes) -> None:
    assert refusal(data)


@pytest.fixture(scope="module")
def exported() -> bytes:
    return export_set(load_layers(shipped_layer(), Layer("owner")))


def test_a_truncated_archive_is_refused(exported: bytes) -> None:
    for end in range(0, len(exported), 997):
        assert refusal(exported[:end])


def test_a_changed_member_is_named(exported: bytes) -> None:
    members, _ = unpack(exported, Limits(), lambda name: True)
    style = {**members, "prompts/style.json": members["prompts/style.json"] + b" "}
    assert "'prompts/style.json' is not the one" in refusal(pack(style))
    added = {**members, "prompts/zzz.json": b"{}"}
    assert "'prompts/zzz.json' is not the one" in refusal(pack(added))
    del members["prompts/style.json"]
    assert "'prompts/style.json' is missing" in refusal(pack(members))


@given(st.data())
def test_no_damage_does_more_than_raise_our_error(exported: bytes, data: st.DataObject) -> None:
    damaged = bytearray(exported)
    ends = st.integers(len(damaged) - 6000, len(damaged) - 1)  # the directory is at the end
    for at in data.draw(st.lists(ends | st.integers(0, len(damaged) - 1), min_size=1, max_size=8)):
        damaged[at] = data.draw(st.integers(0, 255))
    with suppress(UserError):
        read_archive(bytes(damaged))


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8})?", fullmatch=True), st.binary()))
def test_what_is_packed_comes_out_again_whatever_the_order(members: dict[str, bytes]) -> None:
    packed = pack(members)
    assert pack(dict(reversed(members.items()))) == packed
    assert unpack(packed, Limits(), lambda name: True) == (members, ())
