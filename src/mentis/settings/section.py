"""The base of every section of the settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from .constant import Constant


class SettingsSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(Constant,))
