package wire

// Bodies returns a zero value of each body of an HTTP request or response. The
// TypeScript types are generated from them.
func Bodies() []any {
	return []any{
		SessionInfo{}, SessionPage{}, NewSession{}, SessionPatch{}, EndSession{}, NewFork{}, Agents{}, AgentSetup{}, NewAgent{}, AddedAgent{}, CheckAgent{}, AgentCheck{}, AgentLogin{}, ChosenMode{}, ChosenOption{}, LoginInput{}, Login{}, PastSessions{}, Adopt{},
		NewJob{}, JobInfo{}, Jobs{}, NewSchedule{}, Schedule{}, ScheduleList{},
		Recording{}, RecordBatch{}, RecordedTo{}, EndRecording{},
		EventsLoaded{}, State{}, NewPrompt{}, PromptAnswer{}, PermissionChoice{}, PermissionResolved{}, TokenAnswer{},
		Queue{}, QueueItem{}, QueuePatch{},
		Offer{}, Paused{}, Resume{}, Resumed{}, Dismiss{}, Undo{}, Redo{}, Undone{}, Undoable{},
		JoinedMachine{}, Machines{}, MachinePatch{}, NewMachineLink{}, MachineLink{}, Join{}, Joined{}, NewHome{}, Home{}, Device{}, Devices{}, DevicePatch{}, SeenDevices{}, NewPairing{}, PairingLink{}, Pair{}, Paired{}, PageProof{}, PageToken{}, SignedAddress{},
		Comment{}, CommentList{}, NewComment{}, CommentPatch{}, Overview{}, Snapshot{}, ExportPreview{},
		Rule{}, Rules{}, NewRule{},
		Folder{}, FolderContent{}, NewFolder{}, FolderPlace{}, FileList{}, Completions{}, Changes{}, Branch{}, CommitBranch{}, UpdateBranch{}, MergeBranch{}, PushBranch{}, MakePullRequest{}, PullRequestPage{}, DiscardBranch{}, BranchAct{}, Worktrees{}, RemoveWorktree{}, FileChange{},
		Trash{}, StorageReport{}, CleanStorage{}, CleanedStorage{}, Usage{},
		PushState{}, NewSubscription{}, NotifyChoice{}, Made{}, Channels{},
		Health{}, Ready{}, AuditPage{}, FoundPage{}, Refused{},
	}
}
