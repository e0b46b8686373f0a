# SPDX-License-Identifier: Apache-2.0
# cmake -DBESSEMER=PROGRAM -DOUT=FOLDER -P MakeManuals.cmake: writes the manual
# pages and the completions of shells, which the command has.
function(write_output file)
  execute_process(COMMAND ${BESSEMER} ${ARGN} OUTPUT_FILE ${OUT}/${file}
                  RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${BESSEMER} ${ARGN}: ${failed}")
  endif()
endfunction()

file(MAKE_DIRECTORY ${OUT}/man1 ${OUT}/bash ${OUT}/zsh ${OUT}/fish)
execute_process(COMMAND ${BESSEMER} --help OUTPUT_VARIABLE help)
string(REGEX MATCHALL "\n  bessemer [a-z-]+" lines "${help}")
write_output(man1/bessemer.1 man)
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".* " "" command "${line}")
  write_output(man1/bessemer-${command}.1 man ${command})
endforeach()
write_output(bash/bessemer completions bash)
write_output(zsh/_bessemer completions zsh)
write_output(fish/bessemer.fish completions fish)
file(TOUCH ${OUT}/stamp)
