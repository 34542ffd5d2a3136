"""A session as a document, by the name of its form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias

from agentcli.runtime.catalogue import Story
from agentcli.runtime.export.document import Document, document_of
from agentcli.runtime.export.markdown import markdown
from agentcli.runtime.export.page import page

Form: TypeAlias = Literal["md", "html"]
FORMS: Mapping[Form, Callable[[Document], Iterator[str]]] = {"md": markdown, "html": page}


def exported(story: Story, form: Form) -> Iterator[str]:
    """The document, in pieces."""
    return FORMS[form](document_of(story))
