// Schedules kept for the next call with the same arguments: programs call the same collective in a loop.
//
// Kept with the communicator, as finished requests, and only such as are cheap to keep: few steps, little scratch
// memory. What is in arrays among the arguments is compared as well. With the endpoint's lock held.
#pragma once

#include "coll/collective_request.h"

namespace lapwing::coll {

// A finished request compiled from the same arguments for the same form, in the same variant and by the parameters in force now, to be kept again
// or lent; null when there is none.
CollectiveRequest* take_kept(comm::Communicator& communicator, const Call& call, Form form, std::uint32_t variant) noexcept;
// Back to where it came from, after it has run at once.
void keep_again(comm::Communicator& communicator, CollectiveRequest& request) noexcept;
// Keeps `request`, which has no user any more. False when it is not worth it.
bool keep_for_later(CollectiveRequest& request) noexcept;

}  // namespace lapwing::coll
