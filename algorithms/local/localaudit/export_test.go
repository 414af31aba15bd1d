package localaudit

// Sender is sender, and AttackSender attacks one.
type Sender = sender

var AttackSender = attack
