"""Another value for a constant of the settings, while a test needs one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mentis.settings.constant import Constant
from mentis.settings.section import SettingsSection


@contextmanager
def constants_set(section: type[SettingsSection], **values: float) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            assert isinstance(vars(section)[name], Constant)
            patch.setattr(section, name, Constant(value, "", ""))
        yield
