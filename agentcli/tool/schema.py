"""JSON schemas of functions, and the strict reading and checking of a call's arguments. Nothing is ever repaired."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from agentcli.errors import ToolError

MOST_CHARS = 8_000_000
MOST_DEPTH = 64
SHOWN_CHARS = 120
KINDS: dict[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


NOTHING = ("", "null")
"""How providers write that there are no arguments, beside an empty object."""


def parse_arguments(text: str) -> dict[str, Any]:
    """The object that a model wrote; an empty text and `null` are an empty one. ToolError, with what is wrong, for all else."""
    if text.strip() in NOTHING:
        return {}
    if len(text) > MOST_CHARS:
        raise ToolError(f"the arguments are longer than {MOST_CHARS:,} characters")
    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=refuse_constant, parse_float=finite)
    except RecursionError as fault:
        raise ToolError(f"the arguments are nested deeper than {MOST_DEPTH} levels") from fault
    except ValueError as fault:
        raise ToolError(f"the arguments are no valid JSON: {fault}") from fault
    if not isinstance(value, dict):
        raise ToolError(f"the arguments have to be a JSON object, not {kind_of(value)}")
    check_shape(value, MOST_DEPTH)
    return value  # pyright: ignore[reportUnknownVariableType]


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ToolError(f"the argument {shown(twice)} is given twice")
    return found


def refuse_constant(word: str) -> NoReturn:
    raise ToolError(f"{word} is no JSON value")


def finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ToolError(f"the number {shown(text)} is too large")
    return number


def check_shape(value: Any, depth: int) -> None:
    """ToolError for nesting without end, and for text that can be written in no file."""
    if depth < 0:
        raise ToolError(f"the arguments are nested deeper than {MOST_DEPTH} levels")
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError as fault:
                raise ToolError(f"the arguments hold half a character: {value[fault.start]!a}") from fault
        case dict():
            for name, part in value.items():  # pyright: ignore[reportUnknownVariableType]
                check_shape(name, depth)
                check_shape(part, depth - 1)
        case list():
            for part in value:  # pyright: ignore[reportUnknownVariableType]
                check_shape(part, depth - 1)
        case _:
            pass


def validate(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """ToolError that names the field, what was wanted and what was given, where the arguments do not fit."""
    from jsonschema import exceptions
    from referencing.exceptions import Unresolvable

    best: Any = exceptions.best_match  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    try:
        fault: Any = best(_checker(json.dumps(schema, default=dict)).iter_errors(arguments))
    except (exceptions.SchemaError, Unresolvable, re.error) as broken:
        raise ToolError(f"the tool's own schema is broken: {shown(str(broken))}") from broken
    if fault is not None:
        raise ToolError(explain(fault))


@lru_cache(256)
def _checker(schema: str) -> Any:
    """What checks arguments. The schema itself is checked once: that costs a hundred times what its arguments do."""
    from jsonschema.validators import validator_for
    from referencing import Registry

    known = json.loads(schema)
    checker: Any = validator_for(known)
    checker.check_schema(known)
    # an empty registry: a foreign schema must not make us fetch anything
    nothing: Any = Registry()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return checker(known, registry=nothing)


def explain(fault: Any) -> str:
    """A validation error in a sentence that a model can act on."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.absolute_path).lstrip(".")
    where = shown(place) if place else "the arguments"
    wanted = fault.validator_value
    match fault.validator:
        case "required":
            missing = next((name for name in wanted if name not in fault.instance), "?")
            return f"{place + ': ' if place else ''}{shown(missing)} is missing"
        case "additionalProperties":
            known = sorted(fault.schema.get("properties", {}))
            extra = [name for name in fault.instance if name not in known]
            return f"{where}: unknown {', '.join(map(shown, extra[:5]))}; there are {', '.join(known)}"
        case "type":
            kinds = wanted if isinstance(wanted, str) else " or ".join(wanted)
            return f"{where}: wanted {kinds}, given {kind_of(fault.instance)} {shown(json.dumps(fault.instance))}"
        case "enum":
            return f"{where}: wanted one of {', '.join(map(json.dumps, wanted))}, given {shown(json.dumps(fault.instance))}"
        case "minimum" | "maximum" | "minLength" | "maxLength" | "minItems" | "maxItems":
            return f"{where}: wanted {fault.validator} {wanted}, given {shown(json.dumps(fault.instance))}"
        case _:
            return f"{where}: {fault.message[:300]}"


def kind_of(value: Any) -> str:
    """The JSON name of a value's type."""
    return KINDS.get(type(value), type(value).__name__)  # pyright: ignore[reportUnknownArgumentType]


def shown(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "..."


@dataclass(slots=True, frozen=True)
class Parameter:
    """One argument of a function."""

    name: str
    adapter: TypeAdapter[Any]
    about: str
    default: Any
    """`inspect.Parameter.empty` where it has to be given."""


@dataclass(slots=True, frozen=True)
class Signature:
    """What a model may be told of a function, and what its arguments become."""

    description: str
    parameters: tuple[Parameter, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Signature:
        """Read a function's types and its docstring (Google style). TypeError for a type that JSON cannot bring."""
        about, words = read_docstring(inspect.getdoc(function) or "")
        hints = get_type_hints(function, include_extras=True)
        parameters = [
            Parameter(name, TypeAdapter(hints.get(name, Any)), words.get(name, ""), parameter.default)
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) and name not in ("self", "cls")
        ]
        return cls(about, tuple(parameters))

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of an object."""
        definitions: dict[str, Any] = {}
        properties: dict[str, Any] = {}
        for parameter in self.parameters:
            schema = parameter.adapter.json_schema()
            definitions |= schema.pop("$defs", {})
            properties[parameter.name] = untitled(schema) | described(parameter)
        required = [parameter.name for parameter in self.parameters if parameter.default is inspect.Parameter.empty]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return schema | ({"$defs": untitled(definitions)} if definitions else {})

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments as the function's own types. ToolError where one does not fit."""
        bound: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name not in arguments:
                continue
            try:
                bound[parameter.name] = parameter.adapter.validate_python(arguments[parameter.name])
            except ValidationError as fault:
                first = fault.errors(include_url=False)[0]
                place = ".".join(map(str, (parameter.name, *first["loc"])))
                raise ToolError(f"{place}: {first['msg']}, given {shown(repr(first['input']))}") from fault
        return bound


def described(parameter: Parameter) -> dict[str, Any]:
    words: dict[str, Any] = {"description": parameter.about} if parameter.about else {}
    if parameter.default is not inspect.Parameter.empty and parameter.default is not None:
        words["default"] = to_jsonable_python(parameter.default, fallback=str)
    return words


def untitled(schema: Any) -> Any:
    """The schema without the titles that pydantic makes from names; a property named `title` stays."""
    if isinstance(schema, list):
        return [untitled(part) for part in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    return {name: untitled(part) for name, part in schema.items() if name != "title" or not isinstance(part, str)}  # pyright: ignore[reportUnknownVariableType]


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the sections, and the words for each argument."""
    head, _, rest = text.partition("\nArgs:\n")
    head = re.split(r"\n(?:Returns|Yields|Raises|Examples?|Notes?):\n", head)[0].strip()
    words: dict[str, str] = {}
    name = ""
    indent = len(rest) - len(rest.lstrip(" "))
    for line in rest.split("\n"):
        if line.strip() and not line.startswith(" "):
            break
        found = re.match(r"\*{0,2}(\w+)(?: *\([^)]*\))? *: *(.*)", line[indent:]) if line[:indent].isspace() else None
        if found:
            name = found[1]
            words[name] = found[2].strip()
        elif name and line.strip():
            words[name] = f"{words[name]} {line.strip()}".strip()
    return head, words
