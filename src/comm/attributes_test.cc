#include "comm/attributes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lapwing::comm {
namespace {

using Set = AttributeSet<MPI_Comm>;

// What the callbacks were told; extra_state points here.
struct Calls {
  std::vector<std::string> log;
  int copy_code = MPI_SUCCESS;
  int delete_code = MPI_SUCCESS;
  int copy_flag = 1;
};

int copy_plus_one(MPI_Comm, int, void* extra, void* in, void* out, int* flag) {
  auto& calls = *static_cast<Calls*>(extra);
  const auto value = reinterpret_cast<std::uintptr_t>(in);
  calls.log.push_back("copy " + std::to_string(value));
  *static_cast<void**>(out) = reinterpret_cast<void*>(value + 1);
  *flag = calls.copy_flag;
  return calls.copy_code;
}

int note_delete(MPI_Comm, int, void* value, void* extra) {
  auto& calls = *static_cast<Calls*>(extra);
  calls.log.push_back("delete " + std::to_string(reinterpret_cast<std::uintptr_t>(value)));
  return calls.delete_code;
}

void* number(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);
}

class AttributesTest : public testing::Test {
 protected:
  std::uintptr_t get(const Set& set, int key) {
    void* value = nullptr;
    return set.get(key, &value) ? reinterpret_cast<std::uintptr_t>(value) : 0;
  }
  KeyvalTable<MPI_Comm> table_{1000};
  Calls calls_;
  int key_ = table_.create(copy_plus_one, note_delete, &calls_);
  int other_ = table_.create(MPI_COMM_DUP_FN, note_delete, &calls_);
  int lonely_ = table_.create(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, nullptr);
  Set set_;
};

TEST_F(AttributesTest, SettingAgainDeletesTheOldValue) {
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(key_), number(5)).ok());
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(key_), number(6)).ok());
  EXPECT_EQ(calls_.log, (std::vector<std::string>{"delete 5"}));
  EXPECT_EQ(get(set_, key_), 6u);
}

TEST_F(AttributesTest, CopiesAsTheCallbacksSay) {
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(key_), number(5)).ok());
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(other_), number(7)).ok());
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(lonely_), number(9)).ok());
  Set copy;
  ASSERT_TRUE(set_.copy_to(MPI_COMM_SELF, copy).ok());
  EXPECT_EQ(get(copy, key_), 6u);
  EXPECT_EQ(get(copy, other_), 7u);
  EXPECT_EQ(get(copy, lonely_), 0u);
  calls_.copy_flag = 0;
  Set second;
  ASSERT_TRUE(set_.copy_to(MPI_COMM_SELF, second).ok());
  EXPECT_EQ(second.size(), 1u);
}

TEST_F(AttributesTest, ARefusedCopyIsAnError) {
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(key_), number(5)).ok());
  calls_.copy_code = MPI_ERR_OTHER;
  Set copy;
  EXPECT_EQ(set_.copy_to(MPI_COMM_SELF, copy).error_class(), MPI_ERR_OTHER);
  EXPECT_EQ(copy.size(), 0u);
}

TEST_F(AttributesTest, ClearsInReverseOrder) {
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(key_), number(1)).ok());
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(lonely_), number(2)).ok());
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(other_), number(3)).ok());
  ASSERT_TRUE(set_.clear(MPI_COMM_SELF).ok());
  EXPECT_EQ(calls_.log, (std::vector<std::string>{"delete 3", "delete 1"}));
  EXPECT_EQ(set_.size(), 0u);
}

TEST_F(AttributesTest, ARefusedDeletionKeepsTheAttribute) {
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(key_), number(1)).ok());
  calls_.delete_code = MPI_ERR_OTHER;
  EXPECT_EQ(set_.remove(MPI_COMM_SELF, key_).error_class(), MPI_ERR_OTHER);
  EXPECT_EQ(set_.clear(MPI_COMM_SELF).error_class(), MPI_ERR_OTHER);
  EXPECT_EQ(get(set_, key_), 1u);
}

struct Nested {
  Set* set;
  std::shared_ptr<const Keyval<MPI_Comm>> keyval;
  int calls = 0;
  std::uintptr_t seen = 0;
  bool deletes_again = false;
};

// As another thread might meanwhile: reads, deletes, and sets under the same key.
int set_during_delete(MPI_Comm comm, int key, void* value, void* extra) {
  auto& nested = *static_cast<Nested*>(extra);
  if (++nested.calls > 1) return MPI_SUCCESS;
  void* seen = nullptr;
  nested.seen = nested.set->get(key, &seen) && seen == value ? reinterpret_cast<std::uintptr_t>(seen) : 0;
  nested.deletes_again = nested.set->remove(comm, key).ok();
  return nested.set->set(comm, nested.keyval, number(7)).error_class();
}

TEST_F(AttributesTest, AValueIsDeletedOnceWhateverComesMeanwhile) {
  Nested nested{&set_, nullptr};
  const int key = table_.create(MPI_COMM_NULL_COPY_FN, set_during_delete, &nested);
  nested.keyval = table_.find(key);
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, nested.keyval, number(5)).ok());
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, nested.keyval, number(6)).ok());
  EXPECT_EQ(nested.seen, 5u);
  EXPECT_FALSE(nested.deletes_again);
  EXPECT_EQ(nested.calls, 2);  // of the values 5 and 7
  EXPECT_EQ(get(set_, key), 6u);
  EXPECT_EQ(set_.size(), 1u);
}

TEST_F(AttributesTest, AFreedKeyvalLivesOnInAttributes) {
  ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(key_), number(4)).ok());
  EXPECT_TRUE(table_.free(key_));
  EXPECT_TRUE(table_.free(key_)) << "once more, while one uses it";
  ASSERT_NE(table_.find(key_), nullptr);  // while one uses it
  EXPECT_EQ(table_.find(key_)->number, key_);
  ASSERT_TRUE(set_.clear(MPI_COMM_SELF).ok());
  EXPECT_EQ(calls_.log, (std::vector<std::string>{"delete 4"}));
  EXPECT_EQ(table_.find(key_), nullptr);
  EXPECT_FALSE(table_.free(key_));
}

TEST_F(AttributesTest, ManyFreedKeyvalsInUseStayKnown) {
  std::vector<int> keys;
  for (int i = 0; i < 100; ++i) {
    keys.push_back(table_.create(nullptr, nullptr, nullptr));
    ASSERT_TRUE(set_.set(MPI_COMM_SELF, table_.find(keys.back()), number(i)).ok());
    EXPECT_TRUE(table_.free(keys.back()));
    if (i % 2 == 1) {
      ASSERT_TRUE(set_.remove(MPI_COMM_SELF, keys.back()).ok());
    }
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(table_.find(keys[static_cast<std::size_t>(i)]) != nullptr, i % 2 == 0) << i;
}

TEST_F(AttributesTest, NumbersAreNotReused) {
  table_.free(lonely_);
  EXPECT_GT(table_.create(nullptr, nullptr, nullptr), lonely_);
}

TEST_F(AttributesTest, RemovingNothingIsAnError) {
  EXPECT_EQ(set_.remove(MPI_COMM_SELF, key_).error_class(), MPI_ERR_KEYVAL);
}

}  // namespace
}  // namespace lapwing::comm
