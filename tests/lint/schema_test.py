#!/usr/bin/python3
"""config/hook.schema.json against the hooks that the loader takes and refuses.

The examples and tests/golden/hooks/valid are accepted; tests/golden/hooks/invalid is refused, but for the files whose
first line says "# schema cannot tell: why". Needs python3-jsonschema and python3-yaml of Debian.
"""
import json
import pathlib
import re
import sys

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CANNOT_TELL = "# schema cannot tell:"


class CoreLoader(yaml.SafeLoader):
    """YAML 1.2 core schema as daemon/config reads it: yes and on are text, 0o17 is octal."""

    yaml_implicit_resolvers = {}


for tag, pattern, first in (
    ("null", r"^(~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    ("float", r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$", list("-+0123456789.")),
    ("merge", r"^<<$", ["<"]),
):
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), first)
CoreLoader.add_constructor(
    "tag:yaml.org,2002:int",
    lambda loader, node: int(node.value.lstrip("+"), 0 if node.value[:2] in ("0x", "0o") else 10),
)


def problems(validator, path):
    """The schema's complaints about a file, as text; YAML that cannot be read is one."""
    try:
        documents = [d for d in yaml.load_all(path.read_text(), CoreLoader) if d is not None]
    except yaml.YAMLError as error:
        return [str(error).replace("\n", " ")]
    return [f"{error.json_path}: {error.message}" for d in documents for error in validator.iter_errors(d)]


def main():
    schema = json.loads((ROOT / "config/hook.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failed = 0

    examples = [p for p in (ROOT / "hooks-examples").rglob("*") if re.fullmatch(r"(.+\.)?hook\.ya?ml", p.name)]
    valid = sorted(examples) + sorted((ROOT / "tests/golden/hooks/valid").glob("*.yaml"))
    invalid = sorted((ROOT / "tests/golden/hooks/invalid").glob("*.yaml"))
    for path in valid:
        for problem in problems(validator, path):
            failed += 1
            print(f"{path.relative_to(ROOT)}: the schema refuses a valid hook: {problem}")
    for path in invalid:
        if not path.with_suffix(".expected").exists():
            failed += 1
            print(f"{path.relative_to(ROOT)}: has no .expected beside it")
        if not path.read_text().startswith(CANNOT_TELL) and not problems(validator, path):
            failed += 1
            name = path.relative_to(ROOT)
            print(f"{name}: the schema accepts what the loader refuses; if it cannot tell, say so in the first line")
    if not valid or not invalid:
        sys.exit("no samples found")
    print(f"schema: {len(valid)} valid and {len(invalid)} invalid files, {failed} wrong")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
