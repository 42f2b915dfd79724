#!/usr/bin/python3
"""The schemas of config against what the loaders take and refuse: hooks, tests and scenarios of hooks.

The examples and tests/golden/{hooks,tests}/valid are accepted; the files of invalid are refused, but for those whose
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


def check(schema_file, valid, invalid):
    """How many files the schema takes or refuses wrongly; each is told."""
    schema = json.loads((ROOT / schema_file).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failed = 0
    for path in valid:
        for problem in problems(validator, path):
            failed += 1
            print(f"{path.relative_to(ROOT)}: the schema refuses a valid file: {problem}")
    for path in invalid:
        if not path.read_text().startswith(CANNOT_TELL) and not problems(validator, path):
            failed += 1
            name = path.relative_to(ROOT)
            print(f"{name}: the schema accepts what the loader refuses; if it cannot tell, say so in the first line")
    if not valid or not invalid:
        sys.exit(f"{schema_file}: no samples found")
    print(f"{schema_file}: {len(valid)} valid and {len(invalid)} invalid files, {failed} wrong")
    return failed


def main():
    golden = ROOT / "tests/golden"
    examples = [p for p in (ROOT / "hooks-examples").rglob("*.y*ml") if p.is_file()]

    hooks = [p for p in examples if re.fullmatch(r"(.+\.)?hook\.ya?ml", p.name)]
    invalid = sorted((golden / "hooks/invalid").glob("*.yaml"))
    failed = check("config/hook.schema.json", sorted(hooks) + sorted((golden / "hooks/valid").glob("*.yaml")), invalid)
    for path in invalid:
        if not path.with_suffix(".expected").exists():
            failed += 1
            print(f"{path.relative_to(ROOT)}: has no .expected beside it")

    tests = [p for p in examples if re.fullmatch(r".+\.test\.ya?ml|scenario\.ya?ml", p.name)]
    failed += check(
        "config/test.schema.json",
        sorted(tests) + sorted((golden / "tests/valid").glob("*.yaml")),
        sorted((golden / "tests/invalid").glob("*.yaml")),
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
