// Command-line options of a file that is loaded a second time.
//
// A recompiled file brings its own copies of its `cl::opt`s. They register themselves when it is loaded, which
// LLVM takes for a fatal mistake, since the names are there already. So the registered ones are set aside
// meanwhile. Afterwards the copies get what the user gave to the originals: the command line is read again for
// them, in the way that LLVM reads it.
#include "shim.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace {

using Options = std::remove_reference_t<decltype(cl::getRegisteredOptions())>;

// One set of copies after the other: files are loaded one by one.
Options &kept() {
  static Options Kept;
  return Kept;
}

Options &fresh() {
  static Options Fresh;
  return Fresh;
}

// The map is a StringMap or, in later versions, a DenseMap.
template <class Entry> auto nameOf(const Entry &E, int) -> decltype(E.getKey()) { return E.getKey(); }
template <class Entry> StringRef nameOf(const Entry &E, long) { return E.first; }

cl::Option *find(Options &Map, StringRef Name) {
  auto It = Map.find(Name);
  return It == Map.end() ? nullptr : It->second;
}

// As the command-line parser does it: a comma separates values where the option says so.
bool give(cl::Option *O, unsigned Position, StringRef Name, StringRef Value) {
  if (O->getMiscFlags() & cl::CommaSeparated) {
    auto Comma = Value.find(',');
    while (Comma != StringRef::npos) {
      if (O->addOccurrence(Position, Name, Value.substr(0, Comma)))
        return false;
      Value = Value.substr(Comma + 1);
      Comma = Value.find(',');
    }
  }
  return !O->addOccurrence(Position, Name, Value);
}

} // namespace

void metaloc_options_set_aside() {
  fresh().clear();
  std::swap(kept(), cl::getRegisteredOptions());
}

void metaloc_options_put_back() {
  std::swap(fresh(), cl::getRegisteredOptions());
  std::swap(kept(), cl::getRegisteredOptions());
}

MetalocString metaloc_options_replay(const char *const *Args, size_t Count) {
  Options &All = cl::getRegisteredOptions();
  for (size_t I = 1; I < Count; ++I) {
    StringRef Arg(Args[I]);
    if (Arg == "--")
      break;
    if (Arg.size() < 2 || Arg[0] != '-')
      continue;
    StringRef Name = Arg.substr(Arg[1] == '-' ? 2 : 1);
    auto Equals = Name.find('=');
    bool HasValue = Equals != StringRef::npos;
    // Without data a value is not there; an empty one is something else.
    StringRef Value = HasValue ? Name.substr(Equals + 1) : StringRef();
    Name = Name.substr(0, Equals);
    cl::Option *Original = find(All, Name);
    if (!Original)
      continue;
    if (!HasValue && Original->getValueExpectedFlag() == cl::ValueRequired && I + 1 < Count)
      Value = Args[++I];
    cl::Option *Copy = find(fresh(), Name);
    if (Copy && !give(Copy, I, Name, Value))
      return {Name.data(), Name.size()};
  }
  // Whatever was set in another way (a response file, the environment) cannot be repeated.
  for (auto &Entry : fresh()) {
    StringRef Name = nameOf(Entry, 0);
    cl::Option *Original = find(All, Name);
    if (Original && Original->getNumOccurrences() != Entry.second->getNumOccurrences())
      return {Name.data(), Name.size()};
  }
  return {nullptr, 0};
}
