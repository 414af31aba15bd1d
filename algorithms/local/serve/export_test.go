package serve

// BreakLog lets every later write to the log of s fail, as on a disk that is gone.
func BreakLog(s *Service) { _ = s.log.Close() }

// Add keeps a message as a client does.
func (m *Memory) Add(a Remembered) error {
	_, err := m.add(a)
	return err
}
