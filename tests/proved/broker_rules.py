"""The proved rules that live in the broker's source. Taking one out needs a build, so `make test` only looks
that the places are still there and that the tests pass; tests/proved/take_out does the rest.

A test is `file::name`: a function of Python, or a TEST of googletest."""
from rule import Edit, Rule

OPTIONS = 'src/pg/connect_options.cc'
SESSION = 'src/pg/connection_session_pgtest.cc::SettingsArePinnedWhateverRoleAndDatabaseSay'
BROKER = 'tests/proved/test_broker_rules.py::'
LANES = 'src/engine/lane_cache.cc'
LANES_TEST = 'src/engine/lane_cache_test.cc::'

RULES = (
    Rule('session_isolation', 'Sessions are pinned to read committed.',
         (Edit(OPTIONS, '      {"default_transaction_isolation", "read committed"},\n', ''),), (SESSION,), 'serializable'),
    Rule('session_synchronous_commit', 'Sessions are pinned to synchronous commits.',
         (Edit(OPTIONS, '      {"synchronous_commit", "on"},\n', ''),), (SESSION,), 'synchronous_commit'),
    Rule('session_seqscan', 'Sessions do not use plans made on empty tables.',
         (Edit(OPTIONS, '      {"enable_seqscan", "off"},\n', ''),), (SESSION,), 'enable_seqscan'),
    Rule('session_bitmapscan', 'Sessions do not read all rows of a key to find its newest.',
         (Edit(OPTIONS, '      {"enable_bitmapscan", "off"},\n', ''),), (SESSION,), 'enable_bitmapscan'),
    Rule('session_lock_timeout', 'Sessions have a lock timeout.',
         (Edit(OPTIONS, '      {"lock_timeout", std::to_string(lock_timeout_ms)},\n', ''),), (SESSION,), 'lock_timeout'),
    Rule('session_connection_check', 'The server looks whether its client is still there.',
         (Edit(OPTIONS, '  unless_zero("client_connection_check_interval", client_connection_check_interval_ms);\n', ''),),
         (SESSION,), 'client_connection_check_interval'),
    Rule('session_keepalives', 'The server notices a client that is gone: keepalives and tcp_user_timeout.',
         (Edit(OPTIONS, '''  unless_zero("tcp_user_timeout", tcp_user_timeout_ms);
  unless_zero("client_connection_check_interval"''', '  unless_zero("client_connection_check_interval"'),),
         ('src/pg/connect_options_test.cc::TheServerNoticesAClientThatIsGone',), 'tcp_user_timeout'),
    Rule('session_utf8', 'A database that is not UTF8 is refused.',
         (Edit('src/pg/connector.cc', 'if (encoding == nullptr || std::string_view(encoding) != "UTF8") {', 'if (encoding == nullptr) {'),),
         ('src/pg/connection_session_pgtest.cc::ADatabaseThatIsNotUtf8IsRefusedUntilItIs',), 'did not end|Failure'),

    Rule('broker_try_lock', 'A batch asks for `busy` instead of waiting for a partition.',
         (Edit('src/sidecar/push_batch.cc', 'params.Int8(broker).Int8(n).Bool(false);', 'params.Int8(broker).Int8(n).Bool(true);'),),
         (BROKER + 'test_a_busy_partition_holds_up_only_itself',), 'the neighbour of a busy partition'),
    Rule('busy_stays_in_order', 'Later items of a busy partition stay behind it.',
         (Edit('src/sidecar/push.cc', '    if (open) partition.groups.push_front(std::move(*group));\n  }\n', '''    if (open) partition.groups.push_front(std::move(*group));
  }
  std::sort(partition.groups.begin(), partition.groups.end(),
            [](const PushGroup& a, const PushGroup& b) { return a.call->deadline_ms > b.call->deadline_ms; });
'''),),
         (BROKER + 'test_a_busy_partition_holds_up_only_itself',), 'later items stay behind'),
    Rule('busy_deadline', 'A busy partition is retried until a deadline.',
         (Edit('src/sidecar/push.cc', 'return group.call->deadline_ms > now;', 'return true;'),),
         (BROKER + 'test_a_busy_partition_is_given_up_at_the_deadline',), 'timed out|no answer'),
    Rule('one_batch_in_flight', 'In a process a partition is in at most one batch in flight.',
         (Edit('src/sidecar/push.cc', '  partition.state = State::kInFlight;\n', '  partition.state = State::kIdle;\n'),),
         (BROKER + 'test_a_partition_is_in_one_batch_at_a_time',), "'second', 'first'"),

    Rule('patience', 'A batch that hangs keeps nobody waiting, although few items wait for the one on its way.',
         (Edit('src/sidecar/scheduler.h', 'kPatienceMs = 5;', 'kPatienceMs = 3\'600\'000;'),),
         ('tests/e2e/test_neighbours.py::test_a_push_does_not_wait_for_a_batch_that_hangs',
          'tests/e2e/test_neighbours.py::test_an_ack_does_not_wait_for_a_batch_that_hangs'), 'timed out'),

    Rule('memory_is_compared', 'The broker vouches for the offsets its memory covers only for ids it has compared.',
         (Edit('src/sidecar/push.cc', 'return timed.IsNew(txn) && (!message || message->partition != *partition.id);',
               'return txn == txn && (!message || message->partition != *partition.id);'),),
         (BROKER + 'test_memory_only_says_what_need_not_be_asked',), "'queued', 'queued'"),
    Rule('untimed_memory_is_compared', 'The same for ids without a time.',
         (Edit('src/sidecar/push.cc', '{ return untimed.IsNew(hash); }', '{ return untimed.IsNew(hash) || !untimed.empty(); }'),),
         (BROKER + 'test_memory_only_says_what_need_not_be_asked',), "'queued', 'queued'"),
    Rule('lost_connection_segments', 'A lost connection drops the segments in memory.',
         (Edit('src/sidecar/sidecar.cc', '  cache_.Clear();\n', ''),), (BROKER + 'test_a_lost_connection_drops_the_segments_in_memory',), "'after'"),
    Rule('lost_connection_ids', 'A lost connection drops the remembered transactionIds.',
         (Edit('src/sidecar/push.cc', '''  for (auto& [key, partition] : partitions_) {
    ForgetIds(*partition);
''', '''  for (auto& [key, partition] : partitions_) {
'''),), (BROKER + 'test_a_lost_connection_drops_the_ids_in_memory',), "'queued' == 'duplicate'"),

    Rule('unknown_is_resolved', 'A push of unknown outcome is resolved through batches before it is answered or sent again.',
         (Edit('src/sidecar/push.cc', '      AskWhetherCommitted(batch);\n', '      GoAgain(*batch);\n'),),
         (BROKER + 'test_a_push_in_doubt_is_resolved_before_it_is_answered',), 'nothing twice'),
    Rule('empty_ring_is_confirmed', 'An empty ready ring is confirmed by the database before a 204.',
         (Edit('src/sidecar/pop_state_machine.cc', '    AskTail(pop);\n', '    Wait(pop);\n'),),
         (BROKER + 'test_an_empty_ring_is_confirmed_by_the_database',), '204'),

    Rule('broker_folds_acks', 'The verdicts of all callers on one (partition, group) are folded into one row.',
         (Edit('src/sidecar/ack_fold.cc', '''      if (ack.cumulative) fold.singles.push_back({seq, VerdictKind::kCumulative, {}});
    }
''', '''      if (ack.cumulative) fold.singles.push_back({seq, VerdictKind::kCumulative, {}});
    }
    break;
'''),), ('src/sidecar/ack_fold_test.cc::TheFirstVerdictWinsAcrossCallers',), 'fold.done'),
    Rule('one_write', 'Execute and Sync leave in one write.',
         (Edit('src/pg/connection.cc', '  return PQpipelineSync(connection_.get()) == 1;', '  PQflush(connection_.get());\n  return PQpipelineSync(connection_.get()) == 1;'),),
         ('src/pg/connection_batch_pgtest.cc::OneBatchIsOneWriteAndOneSync',), r'sent.size\(\)'),
    Rule('one_call_per_sync', 'A lease shares its Sync with nothing: its setting would leak.',
         (Edit('src/sidecar/pop_lease.cc', """  scheduler_.Execute(*this, static_cast<int64_t>(chunk->pops.size()),
                     pg::Batch(storage::append_lanes::kLeaseStatement,
                               storage::append_lanes::Encode(chunk->appends)),""", """  pg::Batch shared(storage::append_lanes::kLeaseStatement,
                   storage::append_lanes::Encode(chunk->appends));
  pg::Params none(2);
  none.Add(pg::UuidArray()).Add(pg::Int4Array());
  shared.Add(storage::kRenewLease, std::move(none));
  scheduler_.Execute(*this, static_cast<int64_t>(chunk->pops.size()), std::move(shared),"""),),
         (BROKER + 'test_one_call_per_sync',), r"\['append_leases', 'renew_lease'\]"),
    Rule('lease_keeps_its_id', 'A lease of unknown outcome is asked for again by the same id.',
         (Edit('src/sidecar/pop_lease.cc', '.lease_id = pop->lease_id,', '.lease_id = MakeUuidV7(),'),),
         (BROKER + 'test_a_lease_in_doubt_is_asked_for_again_by_its_id',), '204|success'),

    Rule('refusal_is_looked_up', 'That there is nothing to take is only believed of a lane loaded since the pop came.',
         (Edit('src/sidecar/pop_lease.cc', 'unsure = outcome.state == engine::LeaseState::kNotNow ||', 'unsure ='),),
         (BROKER + 'test_a_refusal_from_memory_is_looked_up',), '204'),
    Rule('more_is_looked_up', 'A pop that memory gives less than it asks for is given what is not listed too.',
         (Edit('src/sidecar/lease_answer.cc', 'return outcome.messages < request.messages_left &&', 'return request.messages_left < 0 &&'),),
         (BROKER + 'test_what_memory_does_not_list_is_looked_up',), r'assert \[1\]'),
    Rule('lost_connection_lanes', 'A lost connection drops the lanes in memory, of every worker.',
         (Edit(LANES, '  seen_generation_ = number;\n  if (!QUEEN_PLANTED(kGenerationsKept)) Clear();\n', '  seen_generation_ = number;\n'),),
         (LANES_TEST + 'R2EverythingIsForgottenWhenAnyWorkerLosesAConnection',), r'cache_.Find\(kLane\)'),
    Rule('lost_connection_answers', 'Answers to what was asked before are not put into memory.',
         (Edit(LANES, '  if (generation != seen_generation_) return;\n', '  if (generation == 0) return;\n'),
          Edit(LANES, '  if (generation != seen_generation_ || found == lanes_.end()) return;\n',
               '  if (generation == 0 || found == lanes_.end()) return;\n')),
         (LANES_TEST + 'R2ALoadBegunBeforeTheConnectionWasLostTellsNothing',
          LANES_TEST + 'R2AnAppendBegunBeforeTheConnectionWasLostTellsNothing'), 'cache_.Find'),
    Rule('load_older_than_push', 'A load whose snapshot may be older than a push is not the whole of a lane.',
         (Edit(LANES, 'touched->second >= load) ||', 'touched->second < load) ||'),),
         (LANES_TEST + 'ALoadOlderThanAPushIsNotTheWholeOfALane', LANES_TEST + 'DoubtOpensALogUntilItIsLoadedAgain'), 'log.open'),
    Rule('window_knows_the_newest', 'Nor does it take back when the last message came: a window would open too early.',
         (Edit(LANES, '      known.log.newest_micros = newest_micros;\n', '      (void)newest_micros;\n'),),
         (LANES_TEST + 'ALoadOlderThanAPushDoesNotTakeBackWhatIsKnownOfItsEnd',), 'log.newest_micros'),
    Rule('load_older_than_append', 'A load older than an append of ours does not take the lane back.',
         (Edit(LANES, 'newer = known.progress.epoch > lane.progress.epoch;', 'newer = known.progress.epoch < 0;'),),
         (LANES_TEST + 'ALoadOlderThanAnAppendGivesOnlyTheLog',), 'progress'),
    Rule('gone_is_passed_over', 'A leased segment that is gone is not answered as empty, and its lease does not stay.',
         (Edit('src/sidecar/pop_fetch.cc', '    GoOnWithout(pop);\n  } else {', '    Finish(pop, PopState::kEmpty, PopResult{});\n  } else {'),),
         ('tests/e2e/test_retention.py::test_what_is_gone_when_it_is_to_be_read_is_passed_over',), 'JSONDecodeError'),

    Rule('carried_lease_not_automatic', 'An automatic ack does not go with a push or an ack.',
         (Edit('src/sidecar/pop_hand_over.cc', 'takes = !pop->request.auto_ack && ', 'takes = '),),
         ('tests/e2e/test_hand_over.py::test_an_automatic_ack_is_not_carried',), 'assert'),
)
