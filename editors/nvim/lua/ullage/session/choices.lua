-- The order of the choices that make a session the active one, whatever order the server's answers come in.
local client = require('ullage.client')

local M = {}

-- Choices are numbered in the order in which they were made. The folder's last session, which is opened at the start, has
-- the number 0: every choice of the user's counts more.
local NONE = -1
local made = 0
---@type integer number of the choice that is in force
local in_force = NONE
---@type integer choices without an answer
local pending = 0
---@type boolean the folder's last session was opened, or there is none to open
local resumed = false
---@type fun()[] work that waits until it is known which session is the active one
local waiting = {}

local function is_settled() return pending == 0 and (resumed or in_force ~= NONE) end

local function settle()
  while is_settled() and #waiting > 0 do
    table.remove(waiting, 1)()
  end
end

---Calls `work` when it is known which session is the active one: at once, or after the answers to choices that were
---made before. Starts the server if needed.
function M.settled(work)
  if #waiting == 0 and is_settled() then return work() end
  waiting[#waiting + 1] = work
  client.start()
end

---Begins a choice. Returns the function that ends it, with a `SessionResult` of the wire, or with nil if the choice has
---failed. `open` gets the result unless a later choice is in force by then. `done` is called before any work that waits.
---@param open fun(result: table)
---@param number? integer 0 for the folder's last session, or `in_force()` to open the same session again
---@return fun(result?: table, done?: fun())
function M.begin(open, number)
  if not number then
    made = made + 1
    number = made
  end
  pending = pending + 1
  return function(result, done)
    pending = pending - 1
    if result and number >= in_force then
      in_force = number
      open(result)
    end
    if done then done() end
    settle()
  end
end

---Returns the number of the choice that is in force.
function M.in_force() return in_force end

---A server starts, which opens the folder's last session.
function M.await_resume() resumed = false end

---The folder's last session was opened, or there is none that can be.
function M.resumed()
  resumed = true
  settle()
end

return M
