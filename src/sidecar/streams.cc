#include "sidecar/streams.h"

#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

void TextOrNull(pg::Params& params, std::string_view text) {
  text.empty() ? params.Null(pg::oid::kText) : params.Text(text);
}

}  // namespace

void AskToRegister(Lookups& lookups, const StreamQueryRequest& request, StreamQueryDone done) {
  pg::Params params(5);
  params.Text(std::string_view(request.name)).Text(std::string_view(request.source_queue));
  TextOrNull(params, request.sink_queue);
  params.Text(std::string_view(request.config_hash)).Bool(request.reset);
  lookups.Ask(storage::kRegisterStreamQuery, std::move(params),
              [done = std::move(done)](const pg::BatchResult& result) mutable {
                if (!result.ok()) return done(result.status);
                const pg::Rows& rows = result.rows[0];
                done(StreamQueryResult{rows.Uuid(0, 0), rows.Bool(0, 1), rows.Bool(0, 2)});
              });
}

void AskForState(Lookups& lookups, const StreamStateRequest& request, StreamStateDone done) {
  pg::TextArray keys(request.keys.size());
  for (const std::string& key : request.keys) keys.Add(key);
  pg::Params params(6);
  params.Uuid(request.query_id).Int4(request.partition.value).Add(std::move(keys));
  TextOrNull(params, request.key_prefix);
  TextOrNull(params, request.ripe_at);
  params.Int8(request.bytes_max);
  lookups.Ask(storage::kGetStreamState, std::move(params),
              [done = std::move(done)](const pg::BatchResult& result) mutable {
                if (!result.ok()) return done(result.status);
                const pg::Rows& rows = result.rows[0];
                StreamState state{rows.Int8(0, 0), {}};
                if (rows.IsNull(0, 1)) return done(std::move(state));
                state.rows.reserve(static_cast<size_t>(rows.rows()));
                for (int row = 0; row < rows.rows(); ++row) {
                  state.rows.push_back({std::string(rows.Text(row, 1)),
                                        std::string(rows.Text(row, 2)), rows.TimestampTz(row, 3)});
                }
                done(std::move(state));
              });
}

}  // namespace queen::sidecar
