package localserve

// BreakLog lets every later write to the log of s fail, as on a disk that is gone.
func BreakLog(s *Service) { _ = s.log.file.Close() }
