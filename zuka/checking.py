"""Hold a value against a JSON Schema, and say every mistake in words and with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from zuka.places import Problem, Value
from zuka.rooms import builtin

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map of keys",
    "null": "nothing",
}


def check(value: Value, schema: Mapping[str, Any], who: str) -> Iterator[Problem]:
    """Yield every mistake of ``value``; ``who`` is what it is called in the messages."""
    from jsonschema import Draft7Validator
    from jsonschema.validators import extend
    from referencing import Registry

    validator: Any = extend(Draft7Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    others: Any = Registry(retrieve=_neighbour)  # type: ignore[call-arg]
    for error in validator(schema, registry=others).iter_errors(value.plain()):
        for leaf in _leaves(error):
            yield from _problems(value, leaf, who)


def _neighbour(name: str) -> Any:
    """Return a schema that another one refers to by the name of its file."""
    from referencing import Resource

    return Resource.from_contents(json.loads((builtin("schemas") / name).read_text("utf-8")))


def unsound(schema: Any) -> str:
    """Return what is wrong with a schema itself, "" for a good one."""
    from jsonschema import Draft7Validator, FormatChecker, SchemaError

    try:
        Draft7Validator.check_schema(schema, format_checker=FormatChecker(["regex"]))
    except SchemaError as error:
        where = _dotted(list(error.absolute_path))
        return f"'{where}' {error.message[:300]}" if where else error.message[:300]
    return ""


def _pattern(_: Any, pattern: str, text: Any, __: Any) -> Iterator[Any]:
    # Python's `$` lets a newline at the end pass; that of JSON Schema, and of editors, does not.
    from jsonschema import ValidationError

    if isinstance(text, str) and not re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), text):
        yield ValidationError(f"{text!r} does not match {pattern!r}")


def _leaves(error: Any) -> Iterator[Any]:
    """Yield the mistakes of the branch of an anyOf or oneOf that was most likely meant."""
    if not error.context:
        yield error
        return
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)

    def misfit(errors: list[Any]) -> tuple[bool, int, int]:
        wrong_type = any(e.validator == "type" and not e.relative_path for e in errors)
        return wrong_type, -max(len(e.relative_path) for e in errors), len(errors)

    best = min(branches.values(), key=misfit)
    if misfit(best)[0]:
        yield error  # no branch is near: name them all
        return
    for inner in best:
        yield from _leaves(inner)


def _problems(root: Value, error: Any, who: str) -> Iterator[Problem]:
    path = list(error.absolute_path)
    value = root.at(path)
    name = f"'{_dotted(path)}' of {who}" if path else who
    if "propertyNames" in error.absolute_schema_path:
        says = error.schema.get("x-says", "allowed")
        yield Problem(value.key(error.instance), f"the name '{error.instance}' is not {says}")
        return
    match error.validator:
        case "additionalProperties":
            for key in value.data:
                if key not in error.schema.get("properties", {}):
                    yield _unknown(value, key, error.schema, name)
        case "required":
            key = re.match(r"'(.*)' is a required", error.message)
            assert key is not None  # jsonschema's own words
            if error.validator_value.index(key[1]) == _first(error, value):
                for missing in error.validator_value:
                    if missing not in value.data:
                        text = f"{name} needs the key '{missing}'"
                        yield Problem(value.place, text, _told(error.schema, missing))
        case _:
            text, hint = _explained(error, name, value)
            yield Problem(value.place, text, hint)


def _told(schema: Mapping[str, Any], key: str) -> str:
    """Return what a key is, as `zuka kinds` tells it."""
    facts = schema.get("properties", {}).get(key, {})
    example = "".join(f" Such as: {text}" for text in facts.get("examples", [])[:1])
    return f"{key}: {facts['description']}{example}" if "description" in facts else ""


def _first(error: Any, value: Value) -> int:
    """Return which required key is the first that is missing: all are told at once there."""
    missing = [n for n, key in enumerate(error.validator_value) if key not in value.data]
    return missing[0]


def _unknown(value: Value, key: str, schema: Mapping[str, Any], name: str) -> Problem:
    known = list(schema.get("properties", {}))
    free = [word for word in known if word not in value.data]
    near = get_close_matches(key, free, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"its keys: {', '.join(known) or 'none'}"
    return Problem(value.key(key), f"{name} has no key '{key}'", hint)


def _explained(error: Any, name: str, value: Value) -> tuple[str, str]:
    """Return what is wrong, and the hint."""
    example = error.schema.get("examples", [None])[0]
    such = f", such as {_shown(example)}" if example is not None else ""
    if error.validator in ("type", "anyOf", "oneOf"):
        return _wrong_type(error, name, value, such)
    hint = ""
    if error.validator == "enum":
        near = get_close_matches(str(value.data), map(str, error.validator_value), n=1)
        hint = f"did you mean '{near[0]}'?" if near else ""
    return f"{name} {_misfit(error, value, such)}", hint


def _wrong_type(error: Any, name: str, value: Value, such: str) -> tuple[str, str]:
    wanted, got = _wanted(error), _got(value)
    if "text" in wanted and isinstance(value.data, (int, float, bool)):
        hint = f"write text{such}" if such else f"write it in quotes: '{value.text}'"
        return f"{name} is {got}, not {wanted}", hint
    return f"{name} is {got}, not {wanted}{such}", ""


def _misfit(error: Any, value: Value, such: str) -> str:
    """Return how a value does not fit, for each rule of our schemas."""
    schema, limit, got = error.schema, error.validator_value, _got(value)
    empty = f"is empty; write text{such}" if such else "is empty"
    words: dict[str, Callable[[], str]] = {
        "enum": lambda: f"is {got}, not one of {', '.join(map(str, limit))}",
        "const": lambda: f"is {got}, not {limit}",
        "pattern": lambda: f"is {got}, not {schema.get('x-says', limit)}{such}",
        "minimum": lambda: f"is {got}, less than {limit}",
        "maximum": lambda: f"is {got}, more than {limit}",
        "maxLength": lambda: f"has {len(value.data)} characters, more than {limit}",
        "minItems": lambda: empty,
        "minLength": lambda: empty,
        "minProperties": lambda: empty,
        "maxProperties": lambda: f"has {len(value.data)} keys, not {limit}",
        "uniqueItems": lambda: "names something twice",
    }
    return words.get(error.validator, lambda: f"is wrong: {error.message[:300]}")()


def _wanted(error: Any) -> str:
    if error.validator == "type":
        types = error.validator_value
    else:
        types = [each.get("type", "object") for each in error.validator_value]
    words = [_WORDS[each] for each in ([types] if isinstance(types, str) else types)]
    return " or ".join(dict.fromkeys(words))


def _got(value: Value) -> str:
    match value.data:
        case dict():
            return "a map of keys"
        case list():
            return "a list"
        case None:
            return "nothing"
        case bool():
            return value.text
        case int() | float():
            return f"{value.text}, a number"
        case _:
            return _shown(value.text)


def _shown(value: object) -> str:
    text = str(value)
    return f"'{text[:80]}…'" if len(text) > 80 else f"'{text}'"  # noqa: PLR2004 - a line


def _dotted(path: list[str | int]) -> str:
    text = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".")


def found(problems: list[Problem], what: str) -> str:
    """Return all mistakes as one text, in the order of the file, and how many they are."""
    unique = {(str(p.place), p.text): p for p in problems}.values()
    ordered = sorted(unique, key=lambda p: (p.place.source.shown, p.place.line, p.place.column))
    count = "1 mistake" if len(ordered) == 1 else f"{len(ordered)} mistakes"
    return "\n".join([*map(str, ordered), f"{count} in {what}; nothing was sent"])
