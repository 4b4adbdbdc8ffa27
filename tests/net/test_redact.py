"""Secrets are struck out of what is stored, also those that nobody named."""

from __future__ import annotations

import pytest

from mentis.net.redact import is_plain, redact_bytes, secret_forms

KEYS = [
    "sk-ant-oat01-" + "aB3_" * 8,
    "AIza" + "aB3_" * 9,
    "ya29." + "aB3_" * 8,
    "gsk_" + "aB3" * 12,
    "hf_" + "aB3" * 12,
    "xai-" + "aB3" * 12,
    "pplx-" + "aB3" * 12,
    "ghp_" + "aB3" * 12,
    "github_pat_" + "aB3_" * 12,
    "glpat-" + "aB3_" * 6,
    "npm_" + "aB3" * 12,
    "xoxb-" + "123-" * 6,
    "AKIA" + "ABC2" * 4,
    "mts_my-laptop_" + "aB3" * 14 + "-",
    r"-----BEGIN RSA PRIVATE KEY-----\naB3+/\naB3=\n",
]


@pytest.mark.parametrize("key", KEYS)
def test_what_is_shaped_like_a_key_is_struck_out_wherever_it_stands(key: str) -> None:
    for text in (f"key={key}", f'{{"a": "{key}", "b": 1}}', f"{key}\n{key}"):
        found = redact_bytes(text.encode(), ()).decode()
        assert not is_plain(text, ())
        assert "[redacted]" in found
        assert "aB3" not in found
        assert "ABC2" not in found
        assert "123-" not in found


@pytest.mark.parametrize(
    "text",
    ["risk-averse-and-long-enough-words", "hf_hub_download(", "AKIA", "npm_install", "mts_a_b"],
)
def test_words_that_only_begin_alike_stay(text: str) -> None:
    assert redact_bytes(text.encode(), ()) == text.encode()


@pytest.mark.parametrize("secret", ["hunter2-hunter2", 'hunter"2', "hünter22"])
def test_a_text_is_not_called_plain_that_may_hold_a_secret(secret: str) -> None:
    assert is_plain("so it goes", secret_forms(["correct horse"]))
    assert not is_plain(f"so {secret} goes", secret_forms([secret]))
