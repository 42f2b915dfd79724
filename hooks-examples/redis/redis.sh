#!/usr/bin/env bash
# Prints what a Redis should have: a StatefulSet, whose first pod is the master of the others, and a Service that gives the
# pods their names; and once, if there is none, a Secret with a password by chance.
#
#   in   .object             {spec: {image, replicas, passwordSecret, port}}; null when it is gone, however late that is seen:
#                            what it owned goes with it, and here is nothing left to do
#        .related.password   the Secret, if it is one with the label cache.example.com/redis: NAME
#   out  {"children": [Service, StatefulSet], "operations": [CreateIfNotExists of the Secret]}
set -euo pipefail

# 32 letters and digits, for the case that they are needed; by the environment, as the process list is for all to see.
PASSWORD=$(head -c 24 /dev/urandom | base64 | tr '+/' 'xy')
export PASSWORD

# What runs in each pod. The settings come on stdin, so that the password is in no command line there either.
read -r -d '' START <<'END' || true
[ "${HOSTNAME##*-}" = 0 ] || replica="replicaof $MASTER $PORT"
exec redis-server - <<SETTINGS
port $PORT
requirepass "$PASSWORD"
masterauth "$PASSWORD"
$replica
SETTINGS
END
export START

# shellcheck disable=SC2016  # $name is jq's
exec jq -cn '
  (first(inputs) // ("no call on stdin\n" | halt_error(1))) as $call
  | $call.object
  | select(. != null)
  | .metadata.name as $name
  | (.spec.port // 6379) as $port
  | {"cache.example.com/redis": $name} as $labels
  | {
      children: [
        {
          apiVersion: "v1", kind: "Service", metadata: {$name, labels: $labels},
          # Without an address of its own: $name-0.$name is the master, $name are all that are ready.
          spec: {clusterIP: "None", selector: $labels, ports: [{name: "redis", port: $port, protocol: "TCP", targetPort: "redis"}]}
        },
        {
          apiVersion: "apps/v1", kind: "StatefulSet", metadata: {$name, labels: $labels},
          spec: {
            replicas: .spec.replicas,
            serviceName: $name,
            selector: {matchLabels: $labels},
            template: {
              metadata: {labels: $labels},
              spec: {
                containers: [{
                  name: "redis",
                  image: (.spec.image // "docker.io/library/redis:7.4-alpine"),
                  command: ["sh", "-c", env.START],
                  env: [
                    {name: "PORT", value: "\($port)"},
                    {name: "MASTER", value: "\($name)-0.\($name)"},
                    {name: "PASSWORD", valueFrom: {secretKeyRef: {name: .spec.passwordSecret, key: "password"}}}
                  ],
                  ports: [{name: "redis", containerPort: $port, protocol: "TCP"}],
                  readinessProbe: {tcpSocket: {port: "redis"}}
                }]
              }
            }
          }
        }
      ],
      # A Secret that is known needs nothing; one that hookd does not look at, for want of the label, stays as it is too:
      # that is what CreateIfNotExists means.
      operations: [select($call.related.password[.spec.passwordSecret] == null) | {
        operation: "CreateIfNotExists",
        object: {
          apiVersion: "v1", kind: "Secret",
          metadata: {
            name: .spec.passwordSecret, namespace: .metadata.namespace, labels: $labels,
            # It goes with the Redis; a Secret that was there before does not.
            ownerReferences: [{apiVersion, kind, name: $name, uid: .metadata.uid}]
          },
          stringData: {password: env.PASSWORD}
        }
      }]
    }
'
