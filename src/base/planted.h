// Planted defects: faults that the simulator must find (docs/simulator.md). They are compiled into
// its objects only; in the product QUEEN_PLANTED is a constant false.
#pragma once

#ifdef QUEEN_SIMULATOR

#include <string_view>

namespace queen::planted {

enum class Defect {
  kNone,
  kAnsweredEarly,    // D1: an autoAck pop is answered before its outcome
  kNobodyWoken,      // D2: what enters a ring is not offered to who waits
  kPushedTwice,      // a push with an unknown end is sent again
  kBelieved,         // R3: nothing there, says memory, and that is the answer
  kDoubtUnheard,     // R3: what another pop doubts is not there for anybody
  kSkipped,          // an automatic ack settles one message too many
  kNackLost,         // a failed message counts as settled
  kDuplicateTaken,   // memory claims to have compared what it has not
  kTwoHolders,       // a lease is taken over before its end
  kHeldBelieved,     // D4: `held` from memory blocks a partition
  kNotAnnounced,     // D10: what a batch in doubt has stored is not announced
  kGenerationsKept,  // R2: lanes survive a lost connection
  kGroupOfBefore,    // an ack is judged by a group that was deleted and made again since
  kRefusedInDoubt,   // an ack that may have been applied is answered as refused
  kCarriedUnproved,  // what is pushed is given out although the lease beside it lost
  kCarriedStranded,  // a lease that was carried and lost is forgotten, with its pop
};

extern Defect g_planted;

}  // namespace queen::planted

#define QUEEN_PLANTED(defect) (queen::planted::g_planted == queen::planted::Defect::defect)

#else

#define QUEEN_PLANTED(defect) false

#endif
