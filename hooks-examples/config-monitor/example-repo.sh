#!/usr/bin/env bash
# To try the example, and for its tests: commits a pod.yaml with this image into a repository on this machine, which is
# made if there is none.
#
#   example-repo.sh FOLDER IMAGE [SUBJECT]    "none" as IMAGE takes the file away
#   example-repo.sh FOLDER                    removes the repository
set -euo pipefail
folder=${1:?a folder} image=${2-} subject=${3:-a config}
case $folder in */hookd-config-monitor*) ;; *) echo "$folder: only folders named hookd-config-monitor… are written and removed" >&2; exit 2 ;; esac
if [[ -z $image ]]; then rm -rf -- "$folder"; exit; fi

export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
[[ -d $folder ]] || git init --quiet --initial-branch main "$folder"
cd "$folder"
if [[ $image == none ]]; then
  rm -f pod.yaml
else
  printf 'containers:\n  - name: web\n    image: %s   # as it is committed\n' "$image" >pod.yaml
fi
echo "$subject" >>log.txt   # so that there is always something to commit
git add --all
git commit --quiet --message "$subject"
