;;; ullage.el --- How full the contexts of coding agents are  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "28.1"))

;;; Commentary:

;; A client of Ullage's Language Server with Emacs' own jsonrpc.el, which Eglot uses, too.  `ullage-mode' follows the
;; conversations of coding agents on this machine and shows the newest one of the folder in the mode line.
;; `ullage-import' reads a transcript into a session of yours; `ullage-compact' and `ullage-undo' are about that session.
;; What is sent is described in protocol/README.md.

;;; Code:

(require 'jsonrpc)
(require 'subr-x)

(defvar ullage-command '("ullage" "lsp") "The command of the server.")
(defvar ullage-mode-line "" "The text in the mode line.")
(defvar ullage--connection nil "The connection, nil while there is no server.")
(defvar ullage--rows nil "The followed conversations, the last changed first.")
(defvar ullage--session nil "The session that was imported last.")
(put 'ullage-mode-line 'risky-local-variable t)

(defun ullage--request (method &rest params)
  "Send the request METHOD with PARAMS, a plist, and return its result.
A refusal is an error with the server's text."
  (condition-case refused
      (jsonrpc-request ullage--connection method params :timeout 120)
    (jsonrpc-error (user-error "Ullage: %s" (or (alist-get 'jsonrpc-error-message (cdr refused)) refused)))))

(defun ullage--figure (used window percent)
  "Return the text for USED tokens of WINDOW, which are PERCENT of it."
  (if window (format "%d%% of %dK" percent (/ window 1000)) (format "%dK" (/ (or used 0) 1000))))

(defun ullage--show ()
  "Show the newest conversation of the folder, or of all, in the mode line."
  (let* ((folder (directory-file-name (expand-file-name default-directory)))
         (own (seq-find (lambda (row) (equal (plist-get row :cwd) folder)) ullage--rows))
         (row (or own (car ullage--rows))))
    (setq ullage-mode-line
          (if (null row) ""
            (propertize (format " %s %s%s" (plist-get row :agentShort)
                                (ullage--figure (plist-get row :used) (plist-get row :window) (plist-get row :percent))
                                (if (equal (plist-get row :nearness) "compacting") ", compacting…" ""))
                        'help-echo (plist-get row :title)
                        'face (pcase (plist-get row :nearness)
                                ("imminent" 'error) ("near" 'warning) (_ 'default)))))
    (force-mode-line-update t)))

(defun ullage--updated (update)
  "Show UPDATE, one of `ullage/session/update'."
  (pcase (plist-get update :sessionUpdate)
    ("compaction_update" (message "Ullage: compaction %s" (plist-get update :status)))
    ("compaction_summary_chunk" (message "Ullage: writing the summary…"))
    ("notice" (message "Ullage: %s" (plist-get update :title)))))

(defun ullage--notified (_connection method params)
  "Take the notification METHOD with PARAMS."
  (pcase method
    ('ullage/session/update (ullage--updated (plist-get params :update)))
    ('ullage/following/changed
     (let* ((new (append (plist-get params :rows) nil))
            (gone (append (mapcar (lambda (row) (plist-get row :sessionId)) new) (plist-get params :gone) nil)))
       (setq ullage--rows
             (append new (seq-remove (lambda (row) (member (plist-get row :sessionId) gone)) ullage--rows)))
       (ullage--show)))))

(defun ullage--start ()
  "Start the server and follow the conversations of agents."
  (setq ullage--connection
        (make-instance 'jsonrpc-process-connection
                       :name "ullage"
                       :notification-dispatcher #'ullage--notified
                       :on-shutdown (lambda (_) (setq ullage--connection nil))
                       ;; The folder of a buffer need not exist.
                       :process (let ((default-directory "~/"))
                                  (make-process :name "ullage" :command ullage-command :connection-type 'pipe
                                                :coding 'utf-8-emacs-unix :noquery t
                                                :stderr (get-buffer-create " *ullage log*")))))
  (ullage--request 'initialize :processId (emacs-pid) :rootUri nil :clientInfo '(:name "ullage.el")
                   :capabilities (list :experimental (list :ullage (make-hash-table))))
  (jsonrpc-notify ullage--connection 'initialized (make-hash-table))
  (ullage--request 'ullage/following/start :folders (vector (expand-file-name default-directory))))

(defun ullage--stop ()
  "End the server as the protocol wants it."
  (when ullage--connection
    (ullage--request 'shutdown)
    (jsonrpc-notify ullage--connection 'exit nil)
    (with-timeout (5)
      (while (and ullage--connection (jsonrpc-running-p ullage--connection)) (accept-process-output nil 0.05))))
  (setq ullage--connection nil ullage--rows nil ullage--session nil ullage-mode-line ""))

;;;###autoload
(define-minor-mode ullage-mode
  "Show how full the newest context of a coding agent is.
The server reads the agents' own files on this machine."
  :global t :group 'convenience
  (setq global-mode-string (delq 'ullage-mode-line global-mode-string))
  (if (not ullage-mode) (ullage--stop)
    (setq global-mode-string (append (or global-mode-string '("")) '(ullage-mode-line)))
    (ullage--start)))

(defun ullage-import (file)
  "Read the transcript FILE into a session of your own."
  (interactive "fTranscript: ")
  (let* ((imported (ullage--request 'ullage/session/import :path (expand-file-name file)))
         (original (plist-get (plist-get imported :session) :sessionId))
         ;; An agent's own conversation is only read; its fork can be changed.
         (fork (ullage--request 'ullage/session/fork :sessionId original))
         (usage (plist-get fork :usage)))
    (setq ullage--session (plist-get fork :sessionId))
    (message "Ullage: imported, %s" (ullage--figure (plist-get usage :used) (plist-get usage :size)
                                                    (plist-get (plist-get (plist-get usage :_meta) :ullage) :percent)))))

(defun ullage-compact (focus)
  "Compact the imported session.  Its summary keeps what FOCUS says."
  (interactive "sKeep especially (RET for nothing): ")
  (ullage--request 'ullage/context/compact :sessionId ullage--session :focus focus))

(defun ullage-undo ()
  "Undo the last edit of the imported session."
  (interactive)
  (ullage--request 'ullage/context/undo :sessionId ullage--session)
  (message "Ullage: undone"))

(provide 'ullage)
;;; ullage.el ends here
