// GET /api/v1/system/environment (ours): what the broker stands on, for `queen doctor`.
#pragma once

#include <string>
#include <vector>

#include "base/unique_function.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct Context;

// Takes what DescribeDisks returns.
using DisksDone = UniqueFunction<void(std::string)>;

// [{path, freeBytes, totalBytes}] of these directories, without those that are not there (yet).
// Blocks for as long as a disk does not answer: not on the loop of a worker.
std::string DescribeDisks(const std::vector<std::string>& directories);

void HandleEnvironment(const Context& context, const http::Request& request, http::Reply reply);

}  // namespace queen::api
