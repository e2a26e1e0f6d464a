"""Configuration files: read strictly, refused with the place and the nearest right name."""

import re
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from modp.base.errors import InputError, did_you_mean


class Strict(BaseModel):
    """A piece of configuration: no unknown keys, no silent conversions, not changeable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def check(values: Any, kind: type[Model], where: str) -> Model:
    """Return ``values`` as a ``kind``.

    Parameters
    ----------
    values : what a YAML file held
    kind : the pydantic model that says what is allowed
    where : the file's name, for the message

    Raises
    ------
    InputError
        naming every faulty key by its path in the file, what is wrong with it, and the
        nearest known key where one is unknown
    """
    if values is None:
        raise InputError(f"{where} is empty")
    try:
        return kind.model_validate(values)
    except ValidationError as failure:
        reasons: dict[str, list[str]] = {}
        for error in failure.errors():
            reasons.setdefault(_place(error["loc"], values), []).append(_reason(error, kind))
        lines = [f"  {place}{' or '.join(dict.fromkeys(r))}" for place, r in reasons.items()]
        raise InputError(f"{where} cannot be used:\n" + "\n".join(lines)) from None


def at_place(
    place: tuple[str | int, ...], failure: ValidationError, kind: type[BaseModel], values: Any
) -> ValidationError:
    """Return a failure to validate a part of the configuration as one of the whole.

    Parameters
    ----------
    place : where the part stands
    kind, values : what the part should have been, and what it was
    """
    lines = [
        InitErrorDetails(
            type=PydanticCustomError(SAID, "{said}", {"said": _reason(error, kind)}),
            loc=(*place, *error["loc"]),
            input=error["input"],
        )
        for error in failure.errors()
    ]
    return ValidationError.from_exception_data(kind.__name__, lines)


def load(path: str | Path, kind: type[Model]) -> Model:
    """Return the YAML file ``path`` as a ``kind``; raise InputError as :func:`check` does."""
    return check(read_yaml(path), kind, str(path))


def read_yaml(path: str | Path) -> Any:
    """Return what the YAML file ``path`` holds.

    Raises
    ------
    InputError
        if the file is missing or is not YAML
    """
    try:
        return parsed(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it in that encoding") from None
    except yaml.YAMLError as failure:
        raise InputError(f"{path} is not valid YAML: {failure}") from None


def parsed(text: str) -> Any:
    """Return what a YAML text says; raise YAMLError if it is none."""
    return yaml.load(text, _Loader)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads 010 as ten, and refuses a key that stands twice, of which YAML would keep the last."""

    def construct_whole(self, node: yaml.ScalarNode) -> int | str:
        return int(node.value) if re.fullmatch(r"[-+]?\d+", node.value) else node.value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for (key, _), name in zip(node.value, keys, strict=True):
            if keys.count(name) > 1:
                raise yaml.MarkedYAMLError(problem=f"key {name!r} stands twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


_WHOLE = "tag:yaml.org,2002:int"
_Loader.add_constructor(_WHOLE, _Loader.construct_whole)
_Loader.add_implicit_resolver(_WHOLE, re.compile(r"[-+]?\d+$"), list("-+0123456789"))

SAID = "said"
"""The type of an error whose message is already for people."""

KEY = "[key]"
"""How pydantic names the key of an entry."""

TYPES = ("str", "int", KEY, "CategoryRecipe", "list[union[int,str]]")
"""How pydantic names the possible types of a value, which are no keys."""


def _place(location: tuple[str | int, ...], values: Any) -> str:
    """The path to a fault, questions by their names; what pydantic adds to it (types, families) left out."""
    parts: list[str] = []
    node, chosen = values, False
    for at, part in enumerate(location):
        if isinstance(node, dict) and node.get("family") == part and not chosen:
            chosen = True  # pydantic names the family that it took
            continue
        inside = part in node if isinstance(node, dict) else isinstance(node, list) and isinstance(part, int)
        if part in TYPES or (not inside and at < len(location) - 1):
            continue
        behind = isinstance(node, list) and isinstance(part, int) and part >= len(node)
        node = node[part] if inside and not behind else None
        parts.append(str(part))
        chosen = False
        if at == 1 and location[0] == "questions" and isinstance(node, dict):
            parts[-1] = str(node.get("name", part))
    return ".".join(parts) + ": " if parts else ""


def _reason(error: Any, kind: type[BaseModel]) -> str:
    value = error["input"]
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        known = _known_keys(kind, error["loc"][:-1])
        listing = f" (known here: {', '.join(known)})" if known else ""
        return f"unknown key{did_you_mean(key, known)}{listing}"
    if error["type"] == "missing":
        return "this key is missing"
    if error["type"] == SAID:
        return str(error["ctx"]["said"])
    if error["type"] == "union_tag_invalid":
        tag, known = error["ctx"]["tag"], error["ctx"]["expected_tags"].replace("'", "")
        return f"no family {tag!r}{did_you_mean(tag, known.split(', '))} (known: {known})"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    hint = ""
    if isinstance(value, bool):
        return f"YAML reads this as {str(value).lower()}; put it into quotes, as in 'Yes', 'No' or 'on'"
    if _is_meant_as_text(error):
        read, example = ("nothing", "null") if value is None else (f"{value}, no text", value)
        what = "a key" if KEY in error["loc"] else "this"
        return f"YAML reads {what} as {read}; put it into quotes, as in '{example}'"
    if isinstance(value, str) and error["type"] in ("float_type", "int_type"):
        example = "a number such as 0.001" if error["type"] == "float_type" else "it without quotes"
        hint = f" (YAML reads this as text; write {example})"
    if isinstance(value, str) and error["type"] == "list_type":
        hint = f" (a list is written [{value}])"
    return f"{error['msg']}, found {value!r}{hint}"


def _is_meant_as_text(error: Any) -> bool:
    """Whether text may stand where YAML found none: an empty value, a fraction, a date."""
    value, may_be_text = error["input"], error["loc"][-1] in ("int", "str", KEY)
    if value is None or isinstance(value, float | date):
        return error["type"] == "string_type" or (error["type"] == "int_type" and may_be_text)
    return False


def _known_keys(kind: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """The keys allowed at a place, found by walking the model's JSON schema."""
    schema = kind.model_json_schema()
    node: dict[str, Any] = schema
    for part in location:
        node = _resolve(node, schema)
        if isinstance(part, int) and "items" in node:
            node = node.get("items", {})
        elif part in node.get("properties", {}):
            node = node["properties"][part]
        elif part in node.get("discriminator", {}).get("mapping", {}):
            node = {"$ref": node["discriminator"]["mapping"][part]}
        elif part == node.get("title") or part in TYPES:
            continue
        else:
            named = [*node.get("patternProperties", {}).values(), node.get("additionalProperties")]
            node = next((n for n in named if isinstance(n, dict)), {})
    return list(_resolve(node, schema).get("properties", {}))


def _resolve(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while True:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
            continue
        choices = [c for c in node.get("anyOf", []) if "$ref" in c or "properties" in c]
        if not choices:
            return node
        node = choices[0]
