# SPDX-License-Identifier: Apache-2.0
# make_null_calls.awk HEADER...: writes, for each function that a public header
# declares with BSM_API, C functions that call it: with NULL for each pointer,
# and with NULL for one of them, the others being handles and memory of the
# fixture `f`; zero for the rest. `null_calls` is the table of them. Functions
# of a handle that the library gives to converters and to functions of plug-ins
# are left out: there is no other.

function argument(text) {
  if (text ~ /[*\[]/) return "NULL"
  if (text ~ /bsm_dims /) return "(bsm_dims){0}"
  if (text ~ /bsm_scalar /) return "(bsm_scalar){0}"
  if (text ~ /bsm_engine_write /) return "NULL"
  if (text ~ /bsm_status /) return "BSM_OK"
  return "0"
}

# Something that is not NULL.
function valid(text) {
  if (text !~ /[*\[]/) return argument(text)
  if (text ~ /\*const/) return "(void *)f.room"
  if (text ~ /bsm_engine \*[a-z]/) return "f.engine"
  if (text ~ /bsm_context \*[a-z]/) return "f.context"
  if (text ~ /bsm_module \*[a-z]/) return "f.module"
  if (text ~ /bsm_operator_list \*[a-z]/) return "f.operators"
  if (text ~ /bsm_plugin_registry \*[a-z]/) return "f.plugins"
  if (text ~ /bsm_calibration \*[a-z]/) return "f.calibration"
  if (text ~ /bsm_thread_pool \*[a-z]/) return "f.pool"
  if (text ~ /const bsm_structure \*[a-z]/) return "f.structure"
  if (text ~ /const char \*[a-z]/) return "\"/x/y\""
  if (text ~ /options \*|bsm_allocator/) return "NULL"
  return "(void *)f.room"
}

function write_call(name, suffix, result, args) {
  printf "static void call_%s%s(void) {\n", name, suffix
  if (result ~ /bsm_status *$/) {
    printf "  bsm_status_free(%s(%s));\n}\n", name, args
  } else {
    printf "  (void)%s(%s);\n}\n", name, args
  }
  names[++count] = name suffix
}

# Whether it takes what it is given away.
function consumes(name) {
  return name ~ /_(destroy|free|join|note)$/
}

# The library gives them to converters and functions of plug-ins.
function is_given(list) {
  return list ~ /^ *(const )?bsm_(args|call|node|conversion_ctx|network|layer|itensor|tensor|converter_registry) \*/
}

function declare(text, name, list, n, parts, i, k, args, result) {
  gsub(/BSM_API|BSM_NODISCARD|BSM_RETURNS_NONNULL/, "", text)
  sub(/BSM_PRINTF\([^)]*\)/, "", text)
  match(text, /bsm_[a-z0-9_]+\(/)
  result = substr(text, 1, RSTART - 1)
  name = substr(text, RSTART, RLENGTH - 1)
  list = substr(text, RSTART + RLENGTH)
  gsub(/\(\*[a-z_]+\)\([^)]*\)/, "*", list) # a pointer to a function
  gsub(/\(\*[a-z_]+\)/, "*", list)          # and to an array
  sub(/\).*/, "", list)
  n = split(list, parts, ",")
  args = ""
  for (i = 1; i <= n; i++) {
    if (parts[i] ~ /^ *void *$/ || parts[i] ~ /\.\.\./) continue
    args = args (i > 1 ? ", " : "") \
           (parts[i] ~ /char \*format/ ? "\"text\"" : argument(parts[i]))
  }
  if (is_given(list)) return
  write_call(name, "", result, args)
  if (consumes(name)) return
  for (k = 1; k <= n; k++) {
    if (parts[k] !~ /[*\[]/ || parts[k] ~ /char \*format/) continue
    args = ""
    for (i = 1; i <= n; i++) {
      if (parts[i] ~ /\.\.\./) continue
      args = args (i > 1 ? ", " : "") \
             (i == k ? "NULL" : parts[i] ~ /char \*format/ ? "\"text\"" : valid(parts[i]))
    }
    write_call(name, "_" k, result, args)
  }
}

{ sub(/\/\*.*\*\//, "") }
/^BSM_API/ { inside = 1; text = "" }
inside { text = text " " $0 }
inside && /;/ { inside = 0; declare(text) }

END {
  print "static const null_call null_calls[] = {"
  for (i = 1; i <= count; i++) {
    printf "    {\"%s\", call_%s},\n", names[i], names[i]
  }
  print "};"
}
