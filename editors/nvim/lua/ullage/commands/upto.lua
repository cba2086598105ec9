---@type ullage.Command
return {
  summary = 'Compact everything up to the message under the cursor, or one that you choose',
  edits = true,
  run = function()
    require('ullage.context.pick').message('Compact everything up to a message, and it, too', function(entry)
      require('ullage.context').watch()
      require('ullage.session').request(
        'context/compact',
        { upTo = entry.message.id },
        require('ullage.notices').compacted
      )
    end)
  end,
}
