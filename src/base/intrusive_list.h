// A doubly linked list whose links live in its elements: no allocation, O(1) removal of an element from the middle.
// The list does not own its elements. An element is in at most one list per node base at a time.
#pragma once

#include <cstddef>

namespace lapwing {

// `Tag` tells several memberships of one element apart.
template <typename Tag = void>
class ListNode {
 public:
  ListNode() noexcept = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;

  bool linked() const noexcept { return next_ != nullptr; }

  void unlink() noexcept {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <typename, typename>
  friend class IntrusiveList;
  ListNode* next_ = nullptr;
  ListNode* previous_ = nullptr;
};

template <typename T, typename Tag = void>
class IntrusiveList {
  using Node = ListNode<Tag>;

 public:
  class Iterator {
   public:
    explicit Iterator(Node* node) noexcept : node_(node) {}
    T& operator*() const noexcept { return *static_cast<T*>(node_); }
    T* operator->() const noexcept { return static_cast<T*>(node_); }
    Iterator& operator++() noexcept {
      node_ = node_->next_;
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return node_ == other.node_; }
    bool operator!=(const Iterator& other) const noexcept { return node_ != other.node_; }

   private:
    friend class IntrusiveList;
    Node* node_;
  };

  IntrusiveList() noexcept { head_.next_ = head_.previous_ = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const noexcept { return head_.next_ == &head_; }
  T& front() noexcept { return *static_cast<T*>(head_.next_); }
  T& back() noexcept { return *static_cast<T*>(head_.previous_); }

  void push_back(T& element) noexcept { insert_before(&head_, element); }
  void push_front(T& element) noexcept { insert_before(head_.next_, element); }

  T& pop_front() noexcept {
    T& element = front();
    static_cast<Node&>(element).unlink();
    return element;
  }

  Iterator begin() noexcept { return Iterator(head_.next_); }
  Iterator end() noexcept { return Iterator(&head_); }

 private:
  void insert_before(Node* position, Node& node) noexcept {
    node.next_ = position;
    node.previous_ = position->previous_;
    position->previous_->next_ = &node;
    position->previous_ = &node;
  }
  Node head_;
};

}  // namespace lapwing
