#include "loop/loop.h"

#include "base/log.h"

namespace queen {

Loop::Loop(std::string name) : name_(std::move(name)) {
  [[maybe_unused]] const int made = uv_loop_init(&loop_);
  assert(made == 0);
  uv_async_init(&loop_, &wake_,
                [](uv_async_t* handle) { static_cast<Loop*>(handle->data)->RunPosted(); });
  wake_.data = this;
  owner_ = std::this_thread::get_id();
}

Loop::~Loop() {
  if (!closed_) {
    uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
  }
  [[maybe_unused]] const int closed = uv_loop_close(&loop_);
  assert(closed == 0);
}

void Loop::Run() {
  owner_ = std::this_thread::get_id();
  uv_run(&loop_, UV_RUN_DEFAULT);
  uv_walk(
      &loop_,
      [](uv_handle_t* handle, void* self) {
        if (uv_is_closing(handle)) return;
        log::Error("a handle was left open on a stopped loop",
                   {{"loop", static_cast<Loop*>(self)->name_},
                    {"type", uv_handle_type_name(handle->type)}});
        uv_close(handle, nullptr);
      },
      this);
  uv_run(&loop_, UV_RUN_DEFAULT);
}

void Loop::Stop() {
  const std::lock_guard lock(mutex_);
  stop_requested_ = true;
  if (!closed_) uv_async_send(&wake_);
}

void Loop::Post(Task task) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  posted_.push_back(std::move(task));
  // One wake-up serves everything posted before it runs.
  if (posted_.size() == 1) uv_async_send(&wake_);
}

void Loop::RunPosted() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) {
    task();
    task = nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (!stop_requested_ || closed_ || !posted_.empty()) return;
  closed_ = true;
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
}

}  // namespace queen
