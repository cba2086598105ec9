-- nvim --clean --headless -u tests/init.lua -l tests/run.lua FILE…: runs test files. The exit status is 0 if all
-- pass.
local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
package.path = here .. '/?.lua;' .. package.path
local files = {}
for _, name in ipairs(_G.arg) do
  files[#files + 1] = here .. '/' .. name
end
require('mini.test').setup()
MiniTest.run({
  collect = {
    find_files = function() return files end,
    -- ULLAGE_CASE: runs only the cases whose name contains it.
    filter_cases = function(case) return table.concat(case.desc, ' '):find(vim.env.ULLAGE_CASE or '', 1, true) ~= nil end,
  },
  execute = { reporter = MiniTest.gen_reporter.stdout({ quit_on_finish = true }) },
})
