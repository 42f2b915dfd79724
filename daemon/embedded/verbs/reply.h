// Answers in the form that the client asked for: JSON, YAML, Table, PartialObjectMetadata. Thread: loop only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "embedded/resources/resource.h"
#include "embedded/wire/media.h"

namespace hookd::embedded {

// Where one answer goes; made once a request.
struct Reply {
  const Request& request;
  std::shared_ptr<ReplySink> sink;
  Media media{};
  std::vector<std::string> warnings{};

  void error(const StatusError& error);
  void plain(int status, std::string text);  // text/plain, as of paths that are no API
  void json(int status, std::string text, std::string_view content_type = "application/json");
  void object(int status, const boost::json::object& object);  // as it is
  ReplyHead head(int status, std::string_view content_type) const;
};

// One object as `media` wants it. Errors: 406 (a list was asked for), 400 (includeObject).
Answer<void> send_object(Reply& reply, int status, const Resource& resource, boost::json::object object, WallTime now);
// A list: `items` are texts in the resource's version, `metadata` the list's.
Answer<void> send_list(Reply& reply, const Resource& resource, std::span<const std::string_view> items,
                       boost::json::object metadata, WallTime now);

// The object of a watch event. `headers`: the first event of a Table watch.
Answer<std::string> event_object(const Reply& reply, const Resource& resource, std::string_view text, bool headers,
                                 WallTime now);

}  // namespace hookd::embedded
