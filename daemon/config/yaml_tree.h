// yaml-cpp's events -> config::Node. Only yaml_source.cc uses it. Thread: any.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/yaml_source.h"
#include "config/yaml_text.h"

namespace hookd::config {

Position position(const YAML::Mark& mark);

// Thrown through yaml-cpp to end the parse; parse_yaml catches it.
struct Stop {
  Position at;
  std::string message;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const YamlText& source, Problems& problems, const YamlLimits& limits)
      : source_(source), problems_(problems), limits_(limits) {}

  Node take_root() { return std::move(root_); }
  Position started_at() const { return started_at_; }
  // The innermost open list or map, for errors that only show at the end of the file.
  std::optional<Position> innermost(bool map) const;

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override;

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    bool flow = false;     // in [ ] or { }
    bool has_key = false;  // the next value belongs to `key`
    bool merge_key = false;
    Entry key;
    std::vector<Node> merges;  // values of `<<`
  };

  void begin(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
             YAML::EmitterStyle::value style);
  void end();
  void finished(Node node, YAML::anchor_t anchor);
  void begin_entry(Frame& frame, Node key) const;
  void stop_at_open_bracket() const;
  void charge(const Node& node, Position at);
  void check_duplicates(Node& map);
  void merge(Frame& frame);

  const YamlText& source_;
  Problems& problems_;
  const YamlLimits& limits_;
  Node root_;
  Position started_at_;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  size_t values_ = 0;    // in the whole file
  size_t expanded_ = 0;  // bytes
};

}  // namespace hookd::config
