// The parts of a messenger, in the order in which they use each other. Send path, receive path and frame receiver stand on them.
#pragma once

#include "p2p/common.h"
#include "p2p/credit_flow.h"
#include "p2p/frame_sender.h"
#include "p2p/incoming_transfers.h"
#include "p2p/lending.h"
#include "p2p/matcher.h"
#include "p2p/outgoing_transfers.h"
#include "p2p/owed_answers.h"
#include "p2p/probes.h"
#include "p2p/vigil.h"

namespace lapwing::p2p {

struct Parts {
  explicit Parts(engine::Engine& engine) : common(engine) {}

  Common common;
  FrameSender frames{common};
  CreditFlow credit{common, frames};
  Matcher matcher;
  SlotTable<ReceiveRequest> named_receives;  // that data may name
  Lending lending{common, matcher, named_receives};
  Probes probes{common.engine};
  Vigil vigil{common, matcher, probes};
  OwedAnswers owed{common, frames};
  OutgoingTransfers outgoing{common, frames, owed};
  IncomingTransfers incoming{common, frames, owed, outgoing, named_receives};
};

}  // namespace lapwing::p2p
