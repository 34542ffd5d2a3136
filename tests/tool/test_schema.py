from typing import Literal

import pytest
from pydantic import BaseModel

from agentcli.errors import ToolError
from agentcli.tool.schema import Signature, parse_arguments, validate

REFUSED = {
    "cut": ('{"a": "b', "no valid JSON"),
    "array": ("[1]", "not array"),
    "string": ('"x"', "not string"),
    "twice": ('{"a": 1, "a": 2}', "twice"),
    "twice below": ('{"x": [{"a": 1, "a": 2}]}', "twice"),
    "nan": ('{"a": NaN}', "NaN"),
    "infinity": ('{"a": -Infinity}', "Infinity"),
    "infinite": ('{"a": 1e999}', "too large"),
    "huge integer": ('{"a": ' + "9" * 5000 + "}", "no valid JSON"),
    "deep": ('{"a": ' * 100 + "1" + "}" * 100, "nested"),
    "very deep": ('{"a": ' * 100_000 + "1" + "}" * 100_000, "nested|recursion"),
    "half a character": ('{"a": "\\ud800"}', "half a character"),
    "half a character in a name": ('{"\\udfff": 1}', "half a character"),
    "two objects": ("{}{}", "no valid JSON"),
    "trailing comma": ('{"a": 1,}', "no valid JSON"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_broken_arguments_are_refused_never_repaired(text, words):
    with pytest.raises(ToolError, match=words):
        parse_arguments(text)


def test_an_empty_text_is_no_arguments():
    assert [parse_arguments(text) for text in ("", " \n", "null", "{}")] == [{}] * 4
    assert parse_arguments('{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "tasks": {"type": "array", "items": {"type": "object", "properties": {"state": {"enum": ["a", "b"]}}}},
    },
    "required": ["path"],
    "additionalProperties": False,
}
FAULTS = [
    ({}, "path is missing"),
    ({"path": 3}, "path: wanted string, given integer 3"),
    ({"path": "x", "limit": "ten"}, 'limit: wanted integer, given string "ten"'),
    ({"path": "x", "limit": True}, "limit: wanted integer, given boolean true"),
    ({"path": "x", "limit": 0}, "limit: wanted minimum 1, given 0"),
    ({"path": "x", "lines": 3}, "the arguments: unknown lines; there are limit, path, tasks"),
    ({"path": "x", "tasks": [{"state": "c"}]}, 'tasks[0].state: wanted one of "a", "b", given "c"'),
]


@pytest.mark.parametrize(("arguments", "words"), FAULTS)
def test_a_fault_names_the_field_what_was_wanted_and_what_was_given(arguments, words):
    with pytest.raises(ToolError) as caught:
        validate(arguments, SCHEMA)
    assert str(caught.value) == words


def test_a_broken_or_far_schema_is_said_and_fetches_nothing():
    for schema in ({"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/x.json"}, {"properties": {"path": {"pattern": "("}}}):
        with pytest.raises(ToolError, match="schema is broken"):
            validate({"path": "x"}, schema)


class Point(BaseModel):
    x: int
    title: str = ""


def draw(point: Point, kind: Literal["a", "b"] = "a", times: int | None = None, *rest: int, **more: int) -> str:
    """Draw a point.

    In a colour.

    Args:
        point: where
            it is
        kind (str): how

    Returns:
        a picture: none
    """
    return f"{point.x}{kind}{times}"


def test_a_function_becomes_a_schema():
    signature = Signature.of(draw)
    assert signature.description == "Draw a point.\n\nIn a colour."
    schema = signature.schema
    assert schema["properties"]["kind"] == {"enum": ["a", "b"], "type": "string", "description": "how", "default": "a"}
    assert schema["properties"]["point"]["description"] == "where it is"
    assert (schema["required"], sorted(schema["properties"])) == (["point"], ["kind", "point", "times"])
    assert schema["properties"]["times"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert sorted(schema["properties"]["point"]["properties"]) == ["title", "x"]
    validate({"point": {"x": 1, "title": "t"}}, schema)


def test_arguments_become_the_types_of_the_function():
    assert Signature.of(draw).bind({"point": {"x": 1}}) == {"point": Point(x=1)}
    with pytest.raises(ToolError, match=r"point\.x"):
        Signature.of(draw).bind({"point": {"x": "one"}})
