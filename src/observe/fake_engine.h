// FakeEngine: an engine for tests of what stands before one. It keeps what it is asked until the
// test answers.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "sidecar/requests.h"

namespace queen::observe {

class FakeEngine final : public sidecar::Engine {
 public:
  void Push(sidecar::PushRequest request) override { push = std::move(request); }
  sidecar::CancelPop Pop(sidecar::PopRequest /*request*/, sidecar::PopDone done) override {
    pop = std::move(done);
    return [this] { cancelled = true; };
  }
  void GiveBack(std::string group, sidecar::PopResult /*result*/) override { given_back = group; }
  void Ack(sidecar::AckRequest request) override { ack = std::move(request); }
  void Transaction(sidecar::TransactionRequest request) override {
    transaction = std::move(request);
  }
  void RegisterStreamQuery(sidecar::StreamQueryRequest /*request*/,
                           sidecar::StreamQueryDone done) override {
    done(Status(Code::kConflict));
  }
  void GetStreamState(sidecar::StreamStateRequest /*request*/,
                      sidecar::StreamStateDone done) override {
    done(sidecar::StreamState{});
  }
  void Renew(sidecar::RenewRequest /*request*/, sidecar::RenewDone done) override {
    done(sidecar::RenewResult{});
  }
  void QueueChanged(const std::optional<std::string>& queue) override { changed = queue; }

  sidecar::PushRequest push;
  sidecar::PopDone pop;
  sidecar::AckRequest ack;
  sidecar::TransactionRequest transaction;
  std::string given_back;
  std::optional<std::string> changed;
  bool cancelled = false;
};

}  // namespace queen::observe
