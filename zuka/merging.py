"""A recipe over the one that it extends: maps merge, stages by name, what stands above wins."""

from __future__ import annotations

from dataclasses import replace

from zuka.places import Value


def merged(below: Value, above: Value) -> Value:
    """Return two recipes as one; every value keeps the place of the file that it stands in."""
    if not (isinstance(below.data, dict) and isinstance(above.data, dict)):
        return above
    data = dict(below.data)
    for key, value in above.data.items():
        if key not in data:
            data[key] = value
        elif key == "stages":
            data[key] = _stages(data[key], value)
        elif key == "machine":
            data[key] = _machine(data[key], value)
        else:
            data[key] = merged(data[key], value)
    return replace(above, data=data, keys={**(below.keys or {}), **(above.keys or {})})


def entry(item: Value) -> tuple[Value, Value]:
    """Return a stage's kind and keys: `keys`, `keys:` or `keys: {…}`."""
    if isinstance(item.data, str):
        return item, Value({}, item.place, keys={})
    (name, body), place = next(iter(item.data.items())), next(iter((item.keys or {}).values()))
    word = Value(name, place, name)
    return word, Value({}, place, keys={}) if body.data is None else body


def _machine(below: Value, above: Value) -> Value:
    """Return a box over another; a sandbox and an address have no key in common."""
    forms = {isinstance(value.data, dict) and "sandbox" in value.data for value in (below, above)}
    return merged(below, above) if len(forms) == 1 else above


def _stages(below: Value, above: Value) -> Value:
    stages = {_name(item): item for item in below.data}
    if len(stages) < len(below.data):
        return replace(above, data=[*below.data, *above.data])  # told as a mistake later
    own = set()
    data = []
    for item in above.data:
        name = _name(item)
        if name in own:
            data.append(item)  # told as a mistake later
        else:
            stages[name] = _stage(stages[name], item) if name in stages else item
        own.add(name)
    return replace(above, data=[*stages.values(), *data])


def _stage(below: Value, above: Value) -> Value:
    (word, old), (again, new) = entry(below), entry(above)
    if word.data != again.data:
        return above
    return Value({again.data: merged(old, new)}, above.place, keys={again.data: again.place})


def _name(item: Value) -> str:
    word, body = entry(item)
    given = body.data.get("name") if isinstance(body.data, dict) else None
    return str(given.data if given else word.data)
