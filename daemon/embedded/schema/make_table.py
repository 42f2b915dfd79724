#!/usr/bin/env python3
"""Writes builtin.api, the table of the built-in kinds: facts of a running API server's OpenAPI documents (list types,
merge keys, defaults, required) and of the Go types of the same version (pointers, omitempty, names of types, numbers
of protobuf fields; generated.proto has to agree).

    make_table.py --kubeconfig FILE [--kubectl kubectl] [--modules ~/go/pkg/mod] > builtin.api

tests/cluster/cluster.py starts such a server; the Go modules are there once tests/cluster/build.sh has run.
The form of the table is told at its head and read by builtin.cc.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The table is a raw string literal, so that builtin.cc takes it in with #include.
BEGIN, END = 'R"api(', ')api"'
HEAD = """\
# The built-in API of Kubernetes {version}, written by make_table.py: do not edit. One fact a line:
#   package ALIAS PREFIX           types below are PREFIX.NAME in OpenAPI, ALIAS.NAME in other packages of this table
#   type NAME [atomic] [GROUP/VERSION/KIND]...
#    FIELD TYPE MARKS...
# TYPE: string, int32, int64, double, bool, bytes, quantity, time, microtime, intstr, any, NAME or ALIAS.NAME of a type;
#       []T list, {{}}T map; T:GONAME, <GONAME>[]T, <GONAME>{{}}T where Go has a name for it.
# MARKS: * pointer   ? left out when empty   ?? also when a zero struct   ! required   =JSON default
#        atomic, set, map(KEY,...): list or map type   merge, merge(KEY), retain, replace: strategic merge patch
#        in(GONAME): brought by an embedded struct, which messages about wrong types name
#        #N: number in protobuf; #M.N: field N of the message in field M, which stands for an embedded struct
"""
GROUPS = (
    "core/v1 apps/v1 batch/v1 autoscaling/v1 autoscaling/v2 policy/v1 rbac.authorization.k8s.io/v1 coordination.k8s.io/v1 "
    "networking.k8s.io/v1 storage.k8s.io/v1 scheduling.k8s.io/v1 discovery.k8s.io/v1 node.k8s.io/v1 events.k8s.io/v1 "
    "apiextensions.k8s.io/v1 apiregistration.k8s.io/v1 admissionregistration.k8s.io/v1 authorization.k8s.io/v1 "
    "authentication.k8s.io/v1 certificates.k8s.io/v1"
).split()
ALSO = [f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}" for name in ("DeleteOptions", "Status", "WatchEvent", "ListMeta")]
MODULES = {"io.k8s.api.": "k8s.io/api/", "io.k8s.apimachinery.": "k8s.io/apimachinery/",
           "io.k8s.apiextensions-apiserver.": "k8s.io/apiextensions-apiserver/",
           "io.k8s.kube-aggregator.": "k8s.io/kube-aggregator/"}  # fmt: skip
SPECIAL = {"resource.Quantity": "quantity", "v1.Time": "time", "v1.MicroTime": "microtime", "v1.FieldsV1": "any",
           "intstr.IntOrString": "intstr", "runtime.RawExtension": "any", "v1.JSON": "any", "v1.JSONSchemaPropsOrArray": "any",
           "v1.JSONSchemaPropsOrBool": "any", "v1.JSONSchemaPropsOrStringArray": "any", "v1.Duration": "string"}  # fmt: skip
SCALARS = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "int": "int64", "uint32": "int64",
           "float64": "double", "byte": "byte"}  # fmt: skip
# What OpenAPI says of each type of the table, to see that both sources tell of the same field.
OPENAPI = {"string": "string", "bool": "boolean", "int32": "integer", "int64": "integer", "double": "number", "bytes": "string"}


@dataclass
class GoField:
    type: str
    file: GoFile
    omitempty: bool
    omitzero: bool
    numbers: tuple[int, ...] = ()  # protobuf: of the messages around the field, then its own
    inside: str = ""  # the embedded struct that brings the field


@dataclass
class GoFile:
    package: GoPackage
    imports: dict[str, str]


class GoPackage:
    """The type declarations of one folder of Go sources."""

    def __init__(self, path: str, folder: Path) -> None:
        self.path = path
        self.types: dict[str, tuple[str, GoFile]] = {}  # name -> what stands behind it; structs: their body
        self.messages: dict[str, set[int]] = {}  # of generated.proto: numbers of their fields
        if (folder / "generated.proto").exists():
            text = re.sub(r"(?m)//.*$", "", (folder / "generated.proto").read_text())
            for name, body in re.findall(r"(?ms)^message (\w+) \{(.*?)^\}", text):
                self.messages[name] = {int(number) for number in re.findall(r"= (\d+);", body)}
        for source in sorted(folder.glob("*.go")):
            if source.name.endswith("_test.go"):
                continue
            text = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.DOTALL)
            text = re.sub(r"(?m)^\s*//.*$", "", text)
            file = GoFile(self, dict(self._imports(text)))
            for name, body in re.findall(r"(?ms)^type (\w+) struct ?\{(\}|\n.*?^\})", text):
                self.types[name] = ("struct " + body, file)
            for name, body in re.findall(r"(?m)^type (\w+) ((?!struct|interface|func)[\w.\[\]*]+)", text):
                self.types.setdefault(name, (body, file))

    def _imports(self, text: str) -> list[tuple[str, str]]:
        found = []
        for block in re.findall(r'(?s)^import \((.*?)\)|^(import [^(\n]+)', text, flags=re.MULTILINE):
            for alias, path in re.findall(r'(\w+)?\s*"([^"]+)"', block[0] or block[1].removeprefix("import")):
                found.append((alias or path.rsplit("/", 1)[-1], path))
        return found

    @property
    def go_name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


class GoSources:
    def __init__(self, modules: Path, versions: dict[str, str]) -> None:
        self._modules, self._versions, self._packages = modules, versions, dict[str, GoPackage]()

    def package(self, path: str) -> GoPackage:
        if path not in self._packages:
            module = "/".join(path.split("/")[:2])
            folder = self._modules / f"{module}@{self._versions.get(module, '')}"
            if not folder.exists():
                folder = max(self._modules.glob(f"{module}@*"))
            self._packages[path] = GoPackage(path, folder / path[len(module) + 1 :])
        return self._packages[path]

    def fields(self, package: GoPackage, name: str) -> dict[str, GoField]:
        """JSON name -> field, embedded structs' too."""
        body, file = package.types[name]
        fields: dict[str, GoField] = {}
        seen = set[int]()
        for line in body.removeprefix("struct ").splitlines():
            match = re.match(r'\s*(?:(\w+)\s+)?([*\w.\[\]]+)\s+`(.*)`', line)
            tag = match and re.search(r'json:"([^"]*)"', match[3])
            if not match or not tag or tag[1] == "-":
                continue
            json_name, *options = tag[1].split(",")
            number = re.search(r'protobuf:"\w+,(\d+)', match[3])
            numbers = (int(number[1]),) if number else ()
            seen |= set(numbers)
            if "inline" in options or (not json_name and not match[1]):
                inner, inner_name = self._named(match[2].lstrip("*"), file)
                found = self.fields(inner, inner_name)
                for field in found.values():
                    field.inside = inner_name + ("." + field.inside if field.inside else "")
                    field.numbers = numbers + field.numbers if numbers else ()
                fields |= found
            else:
                fields[json_name] = GoField(match[2], file, "omitempty" in options, "omitzero" in options, numbers)
        if seen != package.messages.get(name, seen if not seen else set()):
            raise ValueError(f"{name}: Go and generated.proto disagree: {seen} and {package.messages.get(name)}")
        return fields

    def _named(self, name: str, file: GoFile) -> tuple[GoPackage, str]:
        if "." not in name:
            return file.package, name
        alias, bare = name.split(".")
        return self.package(file.imports[alias]), bare

    def resolve(self, expression: str, file: GoFile) -> tuple[str, str]:
        """A Go type as TYPE of the table, but for structs, which are `@path.Name`; and its Go name, "" if it has none."""
        if expression.startswith("*"):
            return self.resolve(expression[1:], file)
        if expression == "[]byte":
            return "bytes", ""
        if expression.startswith("[]"):
            return "[]" + self.text(expression[2:], file), ""
        if match := re.match(r"map\[[\w.]+\](.+)", expression):
            return "{}" + self.text(match[1], file), ""
        if expression in SCALARS:
            return SCALARS[expression], ""
        package, name = self._named(expression, file)
        go_name = f"{package.go_name}.{name}"
        if go_name in SPECIAL:
            return SPECIAL[go_name], go_name
        behind, behind_file = package.types[name]
        if behind.startswith("struct "):
            return f"@{package.path}.{name}", ""
        return self.resolve(behind, behind_file)[0], go_name

    def text(self, expression: str, file: GoFile) -> str:
        found, go_name = self.resolve(expression, file)
        plain = {"quantity": "resource.Quantity", "time": "v1.Time", "microtime": "v1.MicroTime", "intstr": "intstr.IntOrString"}
        if go_name and found[:2] in ("[]", "{}"):
            return f"<{go_name}>{found}"
        return found + (f":{go_name}" if go_name and plain.get(found) != go_name else "")


class Table:
    def __init__(self, v2: dict[str, Any], v3: dict[str, Any], go: GoSources) -> None:
        self.v2, self.v3, self.go = v2, v3, go
        self.names = self._closure()
        self.prefixes = sorted({name.rsplit(".", 1)[0] for name in self.names})

    def _closure(self) -> list[str]:
        todo = list(ALSO)
        for name, schema in self.v2.items():
            for gvk in schema.get("x-kubernetes-group-version-kind", []):
                if f"{gvk['group'] or 'core'}/{gvk['version']}" in GROUPS and not name.endswith("List") and ".meta." not in name:
                    todo.append(name)
        found = set[str]()
        while todo:
            name = todo.pop()
            if name not in found and "properties" in self.v2[name] or name.endswith("CustomResourceSubresourceStatus"):
                found.add(name)
                todo += [ref.rsplit("/", 1)[1] for ref in re.findall(r'"\$ref": "([^"]+)"', json.dumps(self.v2[name]))
                         if ref.rsplit("/", 1)[1] not in found]  # fmt: skip
        return sorted(found)

    def path(self, prefix: str) -> str:
        for dotted, path in MODULES.items():
            if prefix.startswith(dotted):
                return path + prefix[len(dotted) :].replace(".", "/")
        raise KeyError(prefix)

    def alias(self, prefix: str) -> str:
        return "".join(prefix.split(".")[-2:])  # "corev1"

    def refer(self, text: str, prefix: str) -> str:
        """`@k8s.io/api/core/v1.Pod` inside a TYPE becomes NAME or ALIAS.NAME."""

        def short(match: re.Match[str]) -> str:
            for other in self.prefixes:
                if self.path(other) == match[1]:
                    return match[2] if other == prefix else f"{self.alias(other)}.{match[2]}"
            raise KeyError(match[0])

        return re.sub(r"@([\w./-]+)\.(\w+)", short, text)

    def default(self, name: str, field: str) -> Any:
        return self.v3.get(name, {}).get("properties", {}).get(field, {}).get("default")

    def marks(self, name: str, field: str, schema: dict[str, Any], go: GoField, kind: str) -> list[str]:
        marks = ["*"] if go.type.startswith("*") else []
        marks += ["??"] if go.omitzero else ["?"] if go.omitempty else []
        marks += ["!"] if field in self.v2[name].get("required", []) else []
        default = self.default(name, field)
        # Without omitempty and pointer the zero value is the default anyway.
        if default not in (None, {}) and (default or go.omitempty or marks[:1] == ["*"]):
            marks.append("=" + json.dumps(default, separators=(",", ":")))
        list_type = schema.get("x-kubernetes-list-type", schema.get("x-kubernetes-map-type", ""))
        if list_type == "map":
            list_type = f"map({','.join(schema['x-kubernetes-list-map-keys'])})"
        # Lists are atomic unless told otherwise; maps and structs are not.
        if list_type and not (list_type == "atomic" and kind.startswith("[]")) and list_type != "granular":
            marks.append(list_type)
        strategies = [part for part in schema.get("x-kubernetes-patch-strategy", "").split(",") if part]
        if go.inside and go.inside != "TypeMeta":
            marks.append(f"in({go.inside})")
        if go.numbers:
            marks.append("#" + ".".join(map(str, go.numbers)))
        for strategy in strategies:
            key = schema.get("x-kubernetes-patch-merge-key", "")
            if strategy != "replace" or schema.get("type") != "array":  # a list is replaced without a strategy too
                marks.append({"merge": f"merge({key})" if key else "merge", "retainKeys": "retain", "replace": "replace"}[strategy])
        return marks

    def lines(self) -> list[str]:
        lines: list[str] = []
        for prefix in self.prefixes:
            package = self.go.package(self.path(prefix))
            lines.append(f"package {self.alias(prefix)} {prefix}")
            for name in (name for name in self.names if name.rsplit(".", 1)[0] == prefix):
                lines += self._type(name, prefix, package)
        return lines

    def _type(self, name: str, prefix: str, package: GoPackage) -> list[str]:
        schema, bare = self.v2[name], name.rsplit(".", 1)[1]
        head = ["type", bare] + (["atomic"] if schema.get("x-kubernetes-map-type") == "atomic" else [])
        if ".meta." not in name:
            head += [f"{k['group']}/{k['version']}/{k['kind']}" for k in schema.get("x-kubernetes-group-version-kind", [])]
        lines = [" ".join(head)]
        go_fields = self.go.fields(package, bare)
        properties = schema.get("properties", {})
        if set(properties) != set(go_fields):
            raise ValueError(f"{name}: OpenAPI and Go disagree: {set(properties) ^ set(go_fields)}")
        for field, found in sorted(properties.items()):
            go = go_fields[field]
            text = self.refer(self.go.text(go.type, go.file), prefix)
            kind = text.split(":")[0]
            expected = OPENAPI.get(kind)
            if expected and found.get("type") != expected:
                raise ValueError(f"{name}.{field}: {text} in Go, {found.get('type')} in OpenAPI")
            lines.append(" ".join(["", field, text, *self.marks(name, field, found, go, kind)]))
        return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--kubectl", default="kubectl")
    parser.add_argument("--modules", type=Path, default=Path.home() / "go/pkg/mod")
    options = parser.parse_args()

    def ask(path: str) -> dict[str, Any]:
        command = [options.kubectl, "--kubeconfig", options.kubeconfig, "get", "--raw", path]
        answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return answer

    v3: dict[str, Any] = {}
    for group in GROUPS:
        path = "api/v1" if group == "core/v1" else f"apis/{group}"
        v3 |= ask(f"/openapi/v3/{path}")["components"]["schemas"]
    version = ask("/version")["gitVersion"]
    staging = version.replace("v1.", "v0.", 1)
    versions = {module: staging for module in ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver",
                                               "k8s.io/kube-aggregator")}  # fmt: skip
    table = Table(ask("/openapi/v2")["definitions"], v3, GoSources(options.modules, versions))
    lines = table.lines()
    sys.stdout.write("\n".join([BEGIN + HEAD.format(version=version) + lines[0], *lines[1:], END]) + "\n")


if __name__ == "__main__":
    main()
