// What every namespace has from its beginning, and again when it is taken away: the ServiceAccount "default" and the
// ConfigMap kube-root-ca.crt. Thread: loop only.
// Source: API docs "Configure service accounts: default", "Root CA"; the controllers service-account and
// root-ca-certificate-publisher.
#pragma once

#include <string>

#include "embedded/control/context.h"
#include "embedded/control/work_queue.h"

namespace hookd::embedded::control {

class NamespaceContents {
 public:
  struct Wanted {
    bool service_account = true;
    bool root_ca = true;
    std::string ca_certificate;  // PEM
  };
  NamespaceContents(const Context& context, Wanted wanted);
  bool settled() const { return queue_.settled(); }

 private:
  void on_event(const StoreEvent& event);
  void sync(const std::string& ns);
  void publish_root_ca(const std::string& ns);

  Context context_;
  Wanted wanted_;
  WorkQueue<std::string> queue_;
  Store::Subscription events_;
};

}  // namespace hookd::embedded::control
