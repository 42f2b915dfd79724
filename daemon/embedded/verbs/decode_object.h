// What a client sent, made an object that can be stored: types checked, unknown fields gone, defaults set. Thread: any.
#pragma once

#include <string>
#include <vector>

#include "embedded/resources/resource.h"
#include "embedded/wire/body.h"
#include "embedded/wire/options.h"

namespace hookd::embedded {

// Of a POST or PUT. `kinds` tells which other kinds there are (for the words of an error). Warnings go to `warnings`.
Answer<json::object> decode_request(const Request& request, const Resource& resource, const Registry& registry,
                                    FieldValidation validation, std::vector<std::string>& warnings);

// The DeleteOptions of a DELETE whose body is protobuf, which every kind takes, CRDs' too. Errors: 400.
Answer<json::object> decode_protobuf_delete_options(std::string_view body);

// The same for an object that is there already as JSON: after a patch. `unknown` gets `unknown field "..."`.
// Errors: the decoder's text.
std::expected<void, std::string> decode_changed(json::object& object, const Resource& resource,
                                                std::vector<std::string>& unknown);

// Adds `unknown` to `duplicates`, less those inside of unknown fields, of which built-in kinds' decoders do not tell.
void merge_strict(std::vector<std::string>& duplicates, std::vector<std::string> unknown, const Resource& resource);

// "scheme" of errors: converting (v1.Pod) to (core.ConfigMap).
std::string internal_name(const Resource& resource);

}  // namespace hookd::embedded
