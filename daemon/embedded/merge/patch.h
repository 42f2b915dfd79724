// The patches that change a document by themselves: RFC 6902, RFC 7386, strategic merge. Thread: any.
#pragma once

#include "embedded/schema/schema.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

// `patch` is the JSON of the request. Errors: 400 BadRequest for one that is no list of operations, 413 for more than
// 10,000 of them, 422 Invalid for an operation that does not fit the document (also where copies add up to more than
// 3 MiB, or the result would be nested deeper than 1,000 levels).
// As the real server's library does it: negative indices count from the end; `replace` of a key that is not there adds
// it; `copy` of one adds null; `test` for null passes where there is nothing.
Answer<json::value> json_patch(const json::value& document, const json::value& patch);

// Nulls of objects in new lists go too, as in the real server. A patch that is no object becomes the document; the real
// server refuses such a request (400) before it comes here.
json::value merge_patch(const json::value& document, const json::value& patch);

// `schema` of the whole object. $patch, $retainKeys, $deleteFromPrimitiveList, $setElementOrder. Errors: 400 for badly
// formed directives, 422 for lists in lists, 500 without a reason for the rest (unknown $patch, a list item without its
// merge key, wrong types, a change inside of fields that the schema does not know), as the real server answers them.
Answer<json::object> strategic_patch(const json::object& document, const json::object& patch, const Schema& schema);

}  // namespace hookd::embedded
