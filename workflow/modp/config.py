"""Configuration files: read strictly, refused with the place and the nearest right name."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from modp.errors import InputError, did_you_mean


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
    try:
        return kind.model_validate(values)
    except ValidationError as failure:
        lines = [f"  {_place(e['loc'])}{_reason(e, kind)}" for e in failure.errors()]
        raise InputError(f"{where} cannot be used:\n" + "\n".join(lines)) from None


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
        return yaml.load(Path(path).read_text(encoding="utf-8"), _Loader)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it in that encoding") from None
    except yaml.YAMLError as failure:
        raise InputError(f"{path} is not valid YAML: {failure}") from None


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for (key, _), name in zip(node.value, keys, strict=True):
            if keys.count(name) > 1:
                raise yaml.MarkedYAMLError(problem=f"key {name!r} stands twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


def _place(location: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in location) + ": " if location else ""


def _reason(error: Any, kind: type[BaseModel]) -> str:
    value = error["input"]
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        known = _known_keys(kind, error["loc"][:-1])
        listing = f" (known here: {', '.join(known)})" if known else ""
        return f"unknown key{did_you_mean(key, known)}{listing}"
    if error["type"] == "missing":
        return "this key is missing"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    hint = ""
    if isinstance(value, str) and error["type"] in ("float_type", "int_type"):
        hint = " (YAML reads this as text; write a number such as 0.001)"
    return f"{error['msg']}, found {value!r}{hint}"


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
        elif part == node.get("title") or part in ("str", "int"):
            continue  # pydantic's name for one of several possible types, not a key
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
