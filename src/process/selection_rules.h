// By what the job chooses the algorithms of its collectives: what its user asks for, and the parameters of rank 0's machine. They travel on
// rank 0's card, so that all ranks choose alike even where their files differ.
#pragma once

#include "wire/card.h"
#include "wire/card_book.h"

namespace lapwing::process {

struct Process;

// At rank 0: puts what counts on its card. The others have nothing to say.
void offer_selection_rules(Process& process, wire::Card& card);
// Once the cards are there.
void adopt_selection_rules(Process& process, const wire::CardBook& cards);

}  // namespace lapwing::process
