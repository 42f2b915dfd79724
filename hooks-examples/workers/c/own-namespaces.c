// A line in: {"hook":…,"id":"ID",…,"events":[{…,"value":"NAME"}],…}; a line out. Names and ids need no decoding.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char *call = NULL, id[64], name[254];
  size_t room = 0;
  while (getline(&call, &room, stdin) > 0) {
    const char *at = strstr(call, "\"id\":\""), *value = strstr(call, "\"value\":\"");
    if (!at || !value || sscanf(at, "\"id\":\"%63[^\"]", id) != 1 || sscanf(value, "\"value\":\"%253[^\"]", name) != 1) continue;
    printf("{\"id\":\"%s\",\"operations\":[{\"operation\":\"Label\",\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"name\":\"%s\","
           "\"labels\":{\"owner\":\"unassigned\"}}]}\n", id, name);
    fflush(stdout);
  }
  free(call);
  return 0;
}
