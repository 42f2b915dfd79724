#!/usr/bin/env bash
# stub-samples.sh K NAME=MIB …: what metrics-server would say of these pods K minutes after they were made. For scenario.yaml.
set -euo pipefail
minute=$1
shift
for pair in "$@"; do
  name=${pair%%=*}
  made=$(kubectl get pod "$name" -o jsonpath='{.metadata.creationTimestamp}')
  kubectl apply -f - << YAML
apiVersion: metrics.k8s.io/v1beta1
kind: PodMetrics
metadata: {name: $name, labels: {example.com/evict-on-leak: "true"}}
timestamp: $(date -u -d "$made + $minute minutes" +%Y-%m-%dT%H:%M:%SZ)
window: 15s
containers: [{name: main, usage: {memory: ${pair#*=}Mi}}]
YAML
done
