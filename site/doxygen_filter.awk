# SPDX-License-Identifier: Apache-2.0
# The headers have plain comments, which Doxygen does not read. Those that begin
# a line document what follows, those behind a member the member; the first one
# documents the file.
NR == 1 && /SPDX/ { print ""; next }
!file && /^\/\* / { sub(/^\/\* /, "/** @file\n * "); file = 1; print; next }
/^\/\* ---- / { print; next }
/^ *(\/\*| \*)/ { gsub(/#/, "\\#") } # no link
{
  if (sub(/^ *\/\* /, "&@@")) sub(/\/\* @@/, "/** ")
  else if (/[;,] +\/\* /) sub(/\/\* /, "/**< ")
  print
}
