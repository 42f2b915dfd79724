#include "embedded/print/table.h"

#include "base/time.h"
#include "embedded/print/table_cells.h"
#include "embedded/print/table_path.h"

namespace hookd::embedded {
namespace {

PrinterColumn column(std::string_view word) {
  PrinterColumn out;
  out.type = "string";
  if (word.starts_with('+')) {
    out.priority = 1;
    word.remove_prefix(1);
  }
  if (const size_t colon = word.find(':'); colon != std::string_view::npos) {
    for (const char letter : word.substr(colon + 1)) {
      if (letter == 'n') out.format = "name";
      if (letter == 'i') out.type = "integer";
      if (letter == 'b') out.type = "boolean";
    }
    word = word.substr(0, colon);
  }
  out.name = word;
  return out;
}

std::vector<PrinterColumn> columns_of(std::string_view words) {
  std::vector<PrinterColumn> out;
  while (true) {
    const size_t comma = words.find(',');
    out.push_back(column(words.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    words.remove_prefix(comma + 1);
  }
}

json::value custom_cell(const PrinterColumn& column, const json::value& object, WallTime now) {
  const json::value* value = first_at_path(object, column.json_path);
  if (!value) return nullptr;
  if (column.type == "string") {
    if (value->is_string()) return *value;
    if (value->is_null()) return "<nil>";  // as Go prints it
    return json::value(json::serialize(*value));
  }
  if (value->is_null()) return nullptr;
  if (column.type == "integer") {
    if (value->is_int64() || value->is_uint64()) return *value;
    if (value->is_double()) return static_cast<int64_t>(value->get_double());
  } else if (column.type == "number") {
    if (value->is_number()) return *value;
  } else if (column.type == "boolean") {
    if (value->is_bool()) return *value;
  } else if (column.type == "date" && value->is_string()) {
    const std::string_view text = as_string(*value);
    if (text.empty()) return "<unknown>";
    if (!parse_rfc3339(text)) return "<invalid>";
    return json::value(age_of(text, now));
  }
  return nullptr;
}

json::array cells_of(const Resource& resource, const Printer* printer, const json::object& object, WallTime now) {
  if (printer) return printer->cells(object, now);
  json::array cells{json::value(string_at(object, {"metadata", "name"}))};
  if (!resource.custom) {
    cells.emplace_back(string_at(object, {"metadata", "creationTimestamp"}));
  } else if (resource.columns.empty()) {
    cells.emplace_back(age_of(object, now));
  } else {
    const json::value whole(object);
    for (const PrinterColumn& entry : resource.columns)
      if (!entry.json_path.empty()) cells.push_back(custom_cell(entry, whole, now));
  }
  return cells;
}

json::value row_object(const json::object& object, IncludeObject include) {
  if (include == IncludeObject::kObject) return object;
  if (include == IncludeObject::kNone) return nullptr;
  return json::object{{"kind", "PartialObjectMetadata"},
                      {"apiVersion", "meta.k8s.io/v1"},
                      {"metadata", object_at(object, {"metadata"})}};
}

json::value finished_condition(std::string_view phase) {
  const bool good = phase == "Succeeded";
  return json::array{json::object{{"type", "Completed"},
                                  {"status", "True"},
                                  {"reason", phase},
                                  {"message", good ? "The pod has completed successfully." : "The pod failed."}}};
}

}  // namespace

std::string human_duration(Duration age) {
  using std::chrono::duration_cast;
  const int64_t seconds = duration_cast<std::chrono::seconds>(age).count();
  const int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
  const auto two = [](int64_t big, const char* unit, int64_t small, const char* small_unit) {
    return small == 0 ? fmt::format("{}{}", big, unit) : fmt::format("{}{}{}{}", big, unit, small, small_unit);
  };
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return fmt::format("{}h", hours);
  if (hours < 24 * 8) return two(days, "d", hours % 24, "h");
  if (hours < 24 * 365 * 2) return fmt::format("{}d", days);
  if (hours < 24 * 365 * 8) return two(days / 365, "y", days % 365, "d");
  return fmt::format("{}y", days / 365);
}

std::string age_of(std::string_view time, WallTime now) {
  if (time.empty()) return "<unknown>";
  const Result<WallTime> then = parse_rfc3339(time);
  return then ? human_duration(now - *then) : "<unknown>";
}

std::string age_of(const json::object& object, WallTime now) {
  return age_of(string_at(object, {"metadata", "creationTimestamp"}), now);
}

std::vector<PrinterColumn> table_columns(const Resource& resource) {
  if (const Printer* printer = resource.custom ? nullptr : find_printer(resource)) return columns_of(printer->columns);
  std::vector<PrinterColumn> out = columns_of("Name:n");
  if (!resource.custom) {
    out.push_back({"Created At", "date", "", "", "", 0});
  } else if (resource.columns.empty()) {
    out.push_back({"Age", "date", "", "", ".metadata.creationTimestamp", 0});
  }
  if (resource.custom)
    for (const PrinterColumn& entry : resource.columns)
      if (!entry.json_path.empty()) out.push_back(entry);
  return out;
}

json::object table_of(const Resource& resource, std::span<const json::object> objects, json::object metadata,
                      const TableOptions& options) {
  json::object table{{"kind", "Table"}, {"apiVersion", "meta.k8s.io/v1"}, {"metadata", std::move(metadata)}};
  json::array definitions;
  if (options.headers)
    for (const PrinterColumn& entry : table_columns(resource))
      definitions.push_back(json::object{{"name", entry.name},
                                         {"type", entry.type},
                                         {"format", entry.format},
                                         {"description", entry.description},
                                         {"priority", entry.priority}});
  table["columnDefinitions"] = options.headers ? json::value(std::move(definitions)) : json::value(nullptr);
  const Printer* printer = resource.custom ? nullptr : find_printer(resource);
  const bool pods = resource.group.empty() && resource.plural == "pods";
  json::array rows;
  for (const json::object& object : objects) {
    json::object row{{"cells", cells_of(resource, printer, object, options.now)}};
    if (const std::string_view phase = string_at(object, {"status", "phase"});
        pods && (phase == "Succeeded" || phase == "Failed"))
      row["conditions"] = finished_condition(phase);
    row["object"] = row_object(object, options.include);
    rows.push_back(std::move(row));
  }
  // The real server says null where a kind has no printer of its own.
  table["rows"] = rows.empty() && !printer ? json::value(nullptr) : json::value(std::move(rows));
  return table;
}

}  // namespace hookd::embedded
